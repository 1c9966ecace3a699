/* Compiles plain code: parsed once, accepted by guest/plain_walk, and compiled from the tree that was walked. A plain expression
 * has no tree. Code that it declines goes to check/checker.py, which accepts all that is accepted here. */
#include "guest/plain_code.h"

#include <stdbool.h>
#include <stddef.h>

#include "guest/frozen_types.h"
#include "guest/plain_expression.h"
#include "guest/plain_kinds.h"
#include "guest/plain_walk.h"

static const struct aj_plain_py *const py = &aj_plain_py;
static const struct aj_plain_names *const names = &aj_plain_names;
static const struct aj_plain_layer *const layer = &aj_plain_layer;

/* As keep_last_value() of runtime/compiler.py: the value of a last expression is assigned, by one node for all code. */
static bool keep_last_value(object *tree)
{
	object *body = py->get(tree, names->body);
	ssize_t count = body ? py->list_size(body) : -1;
	object *last = count > 0 ? py->list_item(body, count - 1) : NULL;
	bool good = count >= 0;
	if (last && aj_plain_type_of(last) == layer->Expr) {
		object *value = py->get(last, names->value);
		good = value && py->set(layer->assign, names->value, value) == 0;
		aj_python_release(value);
		if (good) {
			py->keep(layer->assign);
			good = py->list_set(body, count - 1, layer->assign) == 0; /* which takes it over, also where it fails */
		}
	}
	aj_python_release(body);
	return good;
}

/* The checker meets the same error and reports it; an interrupt is no error, and stays. */
static void drop_error(void)
{
	if (py->error() && py->is_error(*py->exception))
		py->clear();
}

/* Its code has the value, where other code assigns that. Not by compile(), which may first make the types of nodes. */
static object *compile_expression(object *source, object *filename)
{
	enum { EXPRESSION = 258 }; /* Py_eval_input */
	ssize_t bytes, name_bytes;
	const char *text = py->utf8(source, &bytes), *name = py->utf8(filename, &name_bytes);
	object *code = text && name && aj_plain_is_expression(text, bytes) && aj_plain_is_ascii(name, name_bytes)
	                 ? py->compile_text(text, name, EXPRESSION)
	                 : NULL;
	drop_error();
	return code;
}

static object *parse(object *source, object *filename)
{
	if (py->error())
		return NULL;
	if (aj_plain_code_nodes())
		return NULL;
	return py->call(layer->compile, source, filename, names->exec, layer->parse_flags, layer->yes, NULL);
}

/* compile_plain(source, filename, allowed, bindings): the code object, or None for code that is declined. */
static object *compile_plain(object *self, object *args)
{
	static struct aj_plain_walk w; /* the layer compiles one snippet at a time */
	object *source = py->tuple_item(args, 0), *filename = py->tuple_item(args, 1);
	object *code = source && filename ? compile_expression(source, filename) : NULL;
	(void)self;
	if (code)
		return code;
	w.allowed = py->tuple_item(args, 2);
	w.bindings = py->tuple_item(args, 3);
	object *tree = parse(source, filename);
	if (tree && aj_plain_accept(&w, tree) && keep_last_value(tree))
		code = py->call(layer->compile, tree, filename, names->exec, layer->code_flags, layer->yes, NULL);
	if (code && !aj_plain_keep_bindings(&w)) {
		aj_python_release(code);
		code = NULL;
	}
	aj_plain_forget(&w);
	aj_python_release(tree);
	if (!code)
		drop_error();
	if (code || py->error())
		return code;
	py->keep(py->none);
	return py->none;
}

const char *aj_plain_code_prepare(void)
{
	const char *missing = aj_plain_find();
	if (missing)
		return missing;
	if (aj_plain_offer(AJ_OFFER_COMPILE_PLAIN, compile_plain) < 0)
		return "compile_plain";
	return aj_frozen_types_prepare();
}

const char *aj_plain_code_nodes(void)
{
	static bool tried, found;
	if (!tried)
		found = aj_plain_find_nodes() && aj_plain_find_kinds();
	tried = true;
	return found ? NULL : "a type of _ast";
}

const char *aj_plain_code_in_test(void)
{
	const char *missing = aj_python_find();
	return missing ? missing : aj_plain_code_prepare();
}
