/* One walk over a syntax tree that accepts plain code or declines: by the kinds of nodes, and for names, attributes, calls and
 * imports by rules of their own. It changes nothing, and gives up far below the checker's own limits. */
#include "guest/plain_walk.h"

#include <stddef.h>
#include <string.h>

#include "guest/plain_kinds.h"

enum { DEPTH_MAX = 80, NODES_MAX = 20000 };

static const struct aj_plain_py *const py = &aj_plain_py;
static const struct aj_plain_names *const names = &aj_plain_names;
static const struct aj_plain_layer *const layer = &aj_plain_layer;

static bool is_special(const char *text, ssize_t bytes)
{
	return bytes > 4 && memcmp(text, "__", 2) == 0 && memcmp(text + bytes - 2, "__", 2) == 0;
}

/* Takes over the name. */
static bool bind(struct aj_plain_walk *w, object *name, object *kind)
{
	ssize_t bytes;
	const char *text = name == py->none ? "" : py->utf8(name, &bytes);
	bool good = text && w->bound < AJ_PLAIN_BOUND_MAX;
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

static bool bind_field(struct aj_plain_walk *w, object *node, object *field, object *kind)
{
	object *name = py->get(node, field);
	return name && bind(w, name, kind);
}

static bool is_load(object *node)
{
	object *ctx = py->get(node, names->ctx);
	bool load = ctx && aj_plain_type_of(ctx) == layer->Load;
	aj_python_release(ctx);
	return load;
}

static bool accept_name(struct aj_plain_walk *w, object *node)
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
static bool keep_read(struct aj_plain_walk *w, object *node)
{
	object *value = py->get(node, names->value);
	bool of_name = value && aj_plain_type_of(value) == layer->Name;
	object *name = of_name ? py->get(value, names->id) : NULL;
	bool good = value && (!of_name || (name && w->reads < AJ_PLAIN_READS_MAX));
	if (good && of_name)
		w->read[w->reads++] = name;
	else
		aj_python_release(name);
	aj_python_release(value);
	return good;
}

static bool accept_attribute(struct aj_plain_walk *w, object *node)
{
	ssize_t bytes;
	object *attr = py->get(node, names->attr);
	const char *text = attr ? py->utf8(attr, &bytes) : NULL;
	bool good = text && py->contains(layer->refused_attributes, attr) == 0;
	if (good && *text == '_') {
		/* not _Class__name */
		bool plain = text[1] == '_' || (text[1] >= 'a' && text[1] <= 'z') || (text[1] >= '0' && text[1] <= '9');
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
	bool of_name = func && aj_plain_type_of(func) == layer->Name;
	object *name = of_name ? py->get(func, names->id) : NULL;
	bool good = func && (!of_name || (name && accept_call_of(node, name)));
	aj_python_release(name);
	aj_python_release(func);
	return good;
}

static bool accept_scope(struct aj_plain_walk *w, object *node)
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

static bool allowed_module(const struct aj_plain_walk *w, object *name)
{
	static const char own[] = "agentjail";
	ssize_t bytes;
	const char *text = name == py->none ? NULL : py->utf8(name, &bytes);
	return text && strncmp(text, own, sizeof own - 1) != 0 && text[0] != '_' && py->contains(w->allowed, name) == 1;
}

/* `import a.b` binds a, `import a.b as c` and `from a import b as c` bind c; `import *` binds names that only run time knows. */
static bool accept_alias(struct aj_plain_walk *w, object *alias, bool from)
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

static bool accept_import(struct aj_plain_walk *w, object *node, bool from)
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

static bool accept_node(struct aj_plain_walk *w, enum aj_plain_rule rule, object *node)
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
static bool walk(struct aj_plain_walk *w, object *node, int depth)
{
	object *type = aj_plain_type_of(node);
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
		bool empty = child == py->none || (child && aj_plain_type_of(child) == py->list && py->list_size(child) == 0);
		good = child && (k->empty[i] ? empty : walk(w, child, depth + 1));
		aj_python_release(child);
	}
	return good;
}

/* Once all bindings are known. */
static bool reads_no_module(const struct aj_plain_walk *w)
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

bool aj_plain_accept(struct aj_plain_walk *w, object *tree)
{
	w->nodes = 0;
	return walk(w, tree, 0) && reads_no_module(w);
}

bool aj_plain_keep_bindings(const struct aj_plain_walk *w)
{
	for (size_t i = 0; i < w->bound; i++) {
		object *set = py->dict_item(w->bindings, w->binding[i].kind);
		if (!set || py->add(set, w->binding[i].name) < 0)
			return false;
	}
	return true;
}

void aj_plain_forget(struct aj_plain_walk *w)
{
	while (w->bound)
		aj_python_release(w->binding[--w->bound].name);
	while (w->reads)
		aj_python_release(w->read[--w->reads]);
}
