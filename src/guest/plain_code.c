/* One walk over a syntax tree that accepts plain code or declines, then the compile of the tree that was walked. A plain expression has no tree.
 * It refuses nothing and reports nothing: whatever it declines goes to check/checker.py, which accepts all that is accepted here. */
#include "guest/plain_code.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "guest/plain_expression.h"
#include "guest/plain_kinds.h"
#include "guest/plain_python.h"

/* Depth and nodes are far below the checker's own limits. */
enum { DEPTH_MAX = 80, NODES_MAX = 20000, BOUND_MAX = 1000, READS_MAX = 1000 };

static const struct aj_plain_py *const py = &aj_plain_py;
static const struct aj_plain_names *const names = &aj_plain_names;
static const struct aj_plain_layer *const layer = &aj_plain_layer;

/* --- the walk --- */

struct walk {
	object *allowed;  /* set of modules that may be imported, by their full names */
	object *bindings; /* kind of binding -> set of names, of the snippets before */
	size_t nodes, bound, reads;
	struct {
		object *name, *kind; /* the name is ours */
	} binding[BOUND_MAX];
	object *read[READS_MAX]; /* names of which a private attribute is used, which no module's may be; ours */
};

/* The type of an object that lives on. */
static object *type_of(object *o)
{
	object *type = py->type(o);
	aj_python_release(type);
	return type;
}

static bool is_special(const char *text, ssize_t bytes)
{
	return bytes > 4 && memcmp(text, "__", 2) == 0 && memcmp(text + bytes - 2, "__", 2) == 0;
}

/* Takes over the name. */
static bool bind(struct walk *w, object *name, object *kind)
{
	ssize_t bytes;
	const char *text = name == py->none ? "" : py->utf8(name, &bytes);
	bool good = text && w->bound < BOUND_MAX;
	if (good && *text && is_special(text, bytes))
		good = (kind == names->variable || kind == names->function) && py->contains(layer->bound_specials, name) == 1;
	if (!good || !*text) {
		aj_python_release(name);
		return good;
	}
	w->binding[w->bound].name = name;
	w->binding[w->bound++].kind = kind;
	return true;
}

static bool bind_field(struct walk *w, object *node, object *field, object *kind)
{
	object *name = py->get(node, field);
	return name && bind(w, name, kind);
}

static bool is_load(object *node)
{
	object *ctx = py->get(node, names->ctx);
	bool load = ctx && type_of(ctx) == layer->Load;
	aj_python_release(ctx);
	return load;
}

static bool accept_name(struct walk *w, object *node)
{
	ssize_t bytes;
	if (!is_load(node))
		return bind_field(w, node, names->id, names->variable);
	object *name = py->get(node, names->id);
	const char *text = name ? py->utf8(name, &bytes) : NULL;
	bool good = text && (!is_special(text, bytes) || py->contains(layer->loaded_specials, name) == 1);
	aj_python_release(name);
	return good;
}

/* An attribute with a leading underscore may be a module's own: the name before it is looked at once all bindings are known. */
static bool keep_read(struct walk *w, object *node)
{
	object *value = py->get(node, names->value);
	bool of_name = value && type_of(value) == layer->Name;
	object *name = of_name ? py->get(value, names->id) : NULL;
	bool good = value && (!of_name || (name && w->reads < READS_MAX));
	if (good && of_name)
		w->read[w->reads++] = name;
	else
		aj_python_release(name);
	aj_python_release(value);
	return good;
}

static bool accept_attribute(struct walk *w, object *node)
{
	ssize_t bytes;
	object *attr = py->get(node, names->attr);
	const char *text = attr ? py->utf8(attr, &bytes) : NULL;
	bool good = text && py->contains(layer->refused_attributes, attr) == 0;
	if (good && *text == '_') {
		bool plain = text[1] == '_' || (text[1] >= 'a' && text[1] <= 'z') || (text[1] >= '0' && text[1] <= '9'); /* not _Class__name */
		good = is_special(text, bytes) ? is_load(node) && py->contains(layer->read_specials, attr) == 1 : plain;
		good = good && keep_read(w, node);
	}
	aj_python_release(attr);
	return good;
}

/* type() with one argument is plain; the others of these functions are not. */
static bool accept_call_of(object *node, object *name)
{
	ssize_t bytes;
	const char *text = py->utf8(name, &bytes);
	int found = text ? py->contains(layer->looked_at_calls, name) : -1;
	if (found <= 0)
		return found == 0;
	object *args = py->get(node, names->args), *keywords = py->get(node, names->keywords);
	bool good = strcmp(text, "type") == 0 && args && keywords && py->list_size(args) == 1 && py->list_size(keywords) == 0;
	aj_python_release(args);
	aj_python_release(keywords);
	return good;
}

static bool accept_call(object *node)
{
	object *func = py->get(node, names->func);
	bool of_name = func && type_of(func) == layer->Name;
	object *name = of_name ? py->get(func, names->id) : NULL;
	bool good = func && (!of_name || (name && accept_call_of(node, name)));
	aj_python_release(name);
	aj_python_release(func);
	return good;
}

static bool accept_scope(struct walk *w, object *node)
{
	object *list = py->get(node, names->names);
	bool good = list;
	for (ssize_t i = 0; good && i < py->list_size(list); i++) {
		object *name = py->list_item(list, i);
		py->keep(name);
		good = bind(w, name, names->global);
	}
	aj_python_release(list);
	return good;
}

static bool allowed_module(const struct walk *w, object *name)
{
	static const char own[] = "agentjail";
	ssize_t bytes;
	const char *text = name == py->none ? NULL : py->utf8(name, &bytes);
	return text && strncmp(text, own, sizeof own - 1) != 0 && text[0] != '_' && py->contains(w->allowed, name) == 1;
}

/* `import a.b` binds a, `import a.b as c` and `from a import b as c` bind c; `import *` binds names that only run time knows. */
static bool accept_alias(struct walk *w, object *alias, bool from)
{
	ssize_t bytes;
	object *name = py->get(alias, names->name), *as = py->get(alias, names->asname);
	const char *text = name ? py->utf8(name, &bytes) : NULL;
	bool good = text && as && (from ? *text != '_' : allowed_module(w, name));
	if (good && as != py->none)
		good = bind(w, as, from ? names->from : names->import), as = NULL;
	else if (good && strcmp(text, "*") != 0) {
		object *first = py->text(text, (ssize_t)strcspn(text, "."));
		good = first && bind(w, first, from ? names->from : names->import);
	}
	aj_python_release(name);
	aj_python_release(as);
	return good;
}

static bool accept_import(struct walk *w, object *node, bool from)
{
	object *list = py->get(node, names->names), *module = from ? py->get(node, names->module) : NULL,
	       *level = from ? py->get(node, names->level) : NULL;
	bool good = list && (!from || (module && level && allowed_module(w, module) && py->number(level) == 0));
	for (ssize_t i = 0; good && i < py->list_size(list); i++)
		good = accept_alias(w, py->list_item(list, i), from);
	aj_python_release(list);
	aj_python_release(module);
	aj_python_release(level);
	return good;
}

static bool accept_node(struct walk *w, enum aj_plain_rule rule, object *node)
{
	switch (rule) {
	case AJ_PLAIN_NAME:
		return accept_name(w, node);
	case AJ_PLAIN_ATTRIBUTE:
		return accept_attribute(w, node);
	case AJ_PLAIN_CALL:
		return accept_call(node);
	case AJ_PLAIN_ARGUMENT:
		return bind_field(w, node, names->arg, names->argument);
	case AJ_PLAIN_FUNCTION:
		return bind_field(w, node, names->name, names->function);
	case AJ_PLAIN_CLASS:
		return bind_field(w, node, names->name, names->class);
	case AJ_PLAIN_HANDLER:
		return bind_field(w, node, names->name, names->except);
	case AJ_PLAIN_SCOPE:
		return accept_scope(w, node);
	case AJ_PLAIN_IMPORT:
	case AJ_PLAIN_IMPORT_FROM:
		return accept_import(w, node, rule == AJ_PLAIN_IMPORT_FROM);
	default:
		return true;
	}
}

/* A node, None, or a list of these. */
static bool walk(struct walk *w, object *node, int depth)
{
	object *type = type_of(node);
	bool good = true;
	if (node == py->none)
		return true;
	if (type == py->list) {
		for (ssize_t i = 0; good && i < py->list_size(node); i++)
			good = walk(w, py->list_item(node, i), depth);
		return good;
	}
	const struct aj_plain_kind *k = aj_plain_kind_of(type);
	if (!k || depth > DEPTH_MAX || ++w->nodes > NODES_MAX || !accept_node(w, k->rule, node))
		return false;
	for (size_t i = 0; good && i < k->count; i++) {
		object *child = py->get(node, k->fields[i]);
		good = child && (k->empty[i] ? child == py->none || (type_of(child) == py->list && py->list_size(child) == 0)
		                             : walk(w, child, depth + 1));
		aj_python_release(child);
	}
	return good;
}

static bool reads_no_module(const struct walk *w)
{
	object *imported = py->dict_item(w->bindings, names->import);
	for (size_t i = 0; i < w->reads; i++) {
		if (!imported || py->contains(imported, w->read[i]) != 0)
			return false;
		ssize_t bytes, others;
		const char *text = py->utf8(w->read[i], &bytes);
		for (size_t j = 0; text && j < w->bound; j++) {
			const char *name = py->utf8(w->binding[j].name, &others);
			if (w->binding[j].kind == names->import && (!name || strcmp(name, text) == 0))
				return false;
		}
	}
	return true;
}

static bool keep_bindings(const struct walk *w)
{
	for (size_t i = 0; i < w->bound; i++) {
		object *set = py->dict_item(w->bindings, w->binding[i].kind);
		if (!set || py->add(set, w->binding[i].name) < 0)
			return false;
	}
	return true;
}

static void forget(struct walk *w)
{
	while (w->bound)
		aj_python_release(w->binding[--w->bound].name);
	while (w->reads)
		aj_python_release(w->read[--w->reads]);
}

/* --- the compile --- */

/* As keep_last_value() of runtime/compiler.py: the value of a last expression is assigned, here by one node that serves for all code. */
static bool keep_last_value(object *tree)
{
	object *body = py->get(tree, names->body);
	ssize_t count = body ? py->list_size(body) : -1;
	object *last = count > 0 ? py->list_item(body, count - 1) : NULL;
	bool good = count >= 0;
	if (last && type_of(last) == layer->Expr) {
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

/* Its code has the value, where other code assigns that. Not by compile(), which makes the types of nodes where they are not there yet. */
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
	if (py->error() || py->dict_item(layer->modules, names->tree_classes)) /* which code loads that may change the classes of nodes */
		return NULL;
	return aj_plain_code_nodes() ? NULL
	                             : py->call(layer->compile, source, filename, names->exec, layer->parse_flags, layer->yes, NULL);
}

/* compile_plain(source, filename, allowed, bindings): the code object, or None for code that is declined. */
static object *compile_plain(object *self, object *args)
{
	static struct walk w; /* the layer compiles one snippet at a time */
	object *source = py->tuple_item(args, 0), *filename = py->tuple_item(args, 1);
	object *code = source && filename ? compile_expression(source, filename) : NULL;
	(void)self;
	if (code)
		return code;
	w.allowed = py->tuple_item(args, 2);
	w.bindings = py->tuple_item(args, 3);
	w.nodes = 0;
	object *tree = parse(source, filename);
	if (tree && walk(&w, tree, 0) && reads_no_module(&w) && keep_last_value(tree))
		code = py->call(layer->compile, tree, filename, names->exec, layer->code_flags, layer->yes, NULL);
	if (code && !keep_bindings(&w)) {
		aj_python_release(code);
		code = NULL;
	}
	forget(&w);
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
	return aj_plain_offer("compile_plain", compile_plain) < 0 ? "compile_plain" : NULL;
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
