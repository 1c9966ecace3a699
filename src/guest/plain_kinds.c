/* The table of node types, and the lookup of a row by the address of the type.
 * A field that this file does not know, of a newer Python, must be empty: it may hold what the checker judges. */
#include "guest/plain_kinds.h"

#include <stdint.h>
#include <string.h>

#include "guest/plain_python.h"

enum { TABLE = 256 };

static const struct aj_plain_py *const py = &aj_plain_py;

/* The fields that hold nodes, or lists of nodes. A type that is not here is declined, with all that newer Pythons add: match
 * statements and their patterns, type parameters, try-star. */
static const struct {
	const char *type;
	enum aj_plain_rule rule;
	const char *fields;
} rows[] = {
	{ "Module", AJ_PLAIN_NODE, "body" },
	{ "Expr", AJ_PLAIN_NODE, "value" },
	{ "Constant", AJ_PLAIN_NODE, "" },
	{ "Name", AJ_PLAIN_NAME, "" },
	{ "Attribute", AJ_PLAIN_ATTRIBUTE, "value" },
	{ "Call", AJ_PLAIN_CALL, "func args keywords" },
	{ "keyword", AJ_PLAIN_NODE, "value" },
	{ "BinOp", AJ_PLAIN_NODE, "left right" },
	{ "BoolOp", AJ_PLAIN_NODE, "values" },
	{ "UnaryOp", AJ_PLAIN_NODE, "operand" },
	{ "Compare", AJ_PLAIN_NODE, "left comparators" },
	{ "IfExp", AJ_PLAIN_NODE, "test body orelse" },
	{ "Subscript", AJ_PLAIN_NODE, "value slice" },
	{ "Slice", AJ_PLAIN_NODE, "lower upper step" },
	{ "Starred", AJ_PLAIN_NODE, "value" },
	{ "Tuple", AJ_PLAIN_NODE, "elts" },
	{ "List", AJ_PLAIN_NODE, "elts" },
	{ "Set", AJ_PLAIN_NODE, "elts" },
	{ "Dict", AJ_PLAIN_NODE, "keys values" },
	{ "JoinedStr", AJ_PLAIN_NODE, "values" },
	{ "FormattedValue", AJ_PLAIN_NODE, "value format_spec" },
	{ "Lambda", AJ_PLAIN_NODE, "args body" },
	{ "ListComp", AJ_PLAIN_NODE, "elt generators" },
	{ "SetComp", AJ_PLAIN_NODE, "elt generators" },
	{ "DictComp", AJ_PLAIN_NODE, "key value generators" },
	{ "GeneratorExp", AJ_PLAIN_NODE, "elt generators" },
	{ "comprehension", AJ_PLAIN_NODE, "target iter ifs" },
	{ "NamedExpr", AJ_PLAIN_NODE, "target value" },
	{ "Await", AJ_PLAIN_NODE, "value" },
	{ "Yield", AJ_PLAIN_NODE, "value" },
	{ "YieldFrom", AJ_PLAIN_NODE, "value" },
	{ "Assign", AJ_PLAIN_NODE, "targets value" },
	{ "AugAssign", AJ_PLAIN_NODE, "target value" },
	{ "AnnAssign", AJ_PLAIN_NODE, "target annotation value" },
	{ "Delete", AJ_PLAIN_NODE, "targets" },
	{ "Return", AJ_PLAIN_NODE, "value" },
	{ "Raise", AJ_PLAIN_NODE, "exc cause" },
	{ "Assert", AJ_PLAIN_NODE, "test msg" },
	{ "If", AJ_PLAIN_NODE, "test body orelse" },
	{ "For", AJ_PLAIN_NODE, "target iter body orelse" },
	{ "AsyncFor", AJ_PLAIN_NODE, "target iter body orelse" },
	{ "While", AJ_PLAIN_NODE, "test body orelse" },
	{ "With", AJ_PLAIN_NODE, "items body" },
	{ "AsyncWith", AJ_PLAIN_NODE, "items body" },
	{ "withitem", AJ_PLAIN_NODE, "context_expr optional_vars" },
	{ "Try", AJ_PLAIN_NODE, "body handlers orelse finalbody" },
	{ "ExceptHandler", AJ_PLAIN_HANDLER, "type body" },
	{ "FunctionDef", AJ_PLAIN_FUNCTION, "args body decorator_list returns" },
	{ "AsyncFunctionDef", AJ_PLAIN_FUNCTION, "args body decorator_list returns" },
	{ "arguments", AJ_PLAIN_NODE, "posonlyargs args vararg kwonlyargs kw_defaults kwarg defaults" },
	{ "arg", AJ_PLAIN_ARGUMENT, "annotation" },
	{ "ClassDef", AJ_PLAIN_CLASS, "bases keywords body decorator_list" },
	{ "Global", AJ_PLAIN_SCOPE, "" },
	{ "Nonlocal", AJ_PLAIN_SCOPE, "" },
	{ "Import", AJ_PLAIN_IMPORT, "" },
	{ "ImportFrom", AJ_PLAIN_IMPORT_FROM, "" },
	{ "Pass", AJ_PLAIN_NODE, "" },
	{ "Break", AJ_PLAIN_NODE, "" },
	{ "Continue", AJ_PLAIN_NODE, "" },
};

/* Fields that hold no node: names, numbers, operators, contexts. Any other field, of a newer Python, must be empty. */
static const char leaves[] = " id ctx attr op ops arg kind conversion simple is_async name names module level"
			     " type_comment type_ignores value ";

static struct aj_plain_kind kinds[TABLE];

static size_t place_of(const object *type)
{
	return (size_t)(((uintptr_t)type >> 4) * 0x9e3779b1U) % TABLE;
}

const struct aj_plain_kind *aj_plain_kind_of(object *type)
{
	for (size_t at = place_of(type); kinds[at].type; at = (at + 1) % TABLE)
		if (kinds[at].type == type)
			return &kinds[at];
	return NULL;
}

static bool has_word(const char *words, const char *word, size_t bytes)
{
	for (const char *at = words; (at = strstr(at, word)); at += bytes)
		if ((at == words || at[-1] == ' ') && (at[bytes] == ' ' || !at[bytes]))
			return true;
	return false;
}

/* False: the class is not of a shape that this file knows. */
static bool add_kind(object *type, enum aj_plain_rule rule, const char *fields)
{
	size_t at = place_of(type);
	object *all = py->attribute(type, "_fields");
	while (kinds[at].type)
		at = (at + 1) % TABLE;
	struct aj_plain_kind *k = &kinds[at];
	*k = (struct aj_plain_kind){ .type = type, .rule = rule };
	for (ssize_t i = 0; all && i < py->tuple_size(all); i++) {
		ssize_t bytes;
		object *name = py->tuple_item(all, i);
		const char *text = name ? py->utf8(name, &bytes) : NULL;
		if (!text)
			return false;
		bool known = has_word(fields, text, (size_t)bytes);
		if (!known && has_word(leaves, text, (size_t)bytes))
			continue;
		if (k->count == AJ_PLAIN_FIELDS)
			return false;
		k->empty[k->count] = !known;
		k->fields[k->count++] = py->intern(text);
	}
	aj_python_release(all);
	return all;
}

bool aj_plain_find_kinds(void)
{
	object *ast = py->import("_ast");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		object *type = ast ? py->attribute(ast, rows[i].type) : NULL;
		if (!type || !add_kind(type, rows[i].rule, rows[i].fields))
			return false;
	}
	return true;
}
