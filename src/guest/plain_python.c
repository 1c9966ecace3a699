/* Finds the parts of the interpreter that plain requests and the walk over plain code use, once, before any code comes.
 * It walks nothing. A missing function is an error that names it. */
#include "guest/plain_python.h"

#include <stddef.h>

struct aj_plain_py aj_plain_py;
struct aj_plain_names aj_plain_names;
struct aj_plain_layer aj_plain_layer;

enum { VARARGS = 1 }; /* METH_VARARGS */

static const struct aj_python_symbol symbols[] = {
	{ "PyImport_ImportModule", &aj_plain_py.import },
	{ "PyObject_GetAttrString", &aj_plain_py.attribute },
	{ "PyObject_SetAttrString", &aj_plain_py.set_attribute },
	{ "PyObject_GetAttr", &aj_plain_py.get },
	{ "PyObject_SetAttr", &aj_plain_py.set },
	{ "PyObject_Type", &aj_plain_py.type },
	{ "PyUnicode_InternFromString", &aj_plain_py.intern },
	{ "PyUnicode_FromStringAndSize", &aj_plain_py.text },
	{ "PyUnicode_AsUTF8AndSize", &aj_plain_py.utf8 },
	{ "PyList_Size", &aj_plain_py.list_size },
	{ "PyList_GetItem", &aj_plain_py.list_item },
	{ "PyList_SetItem", &aj_plain_py.list_set },
	{ "PyTuple_Size", &aj_plain_py.tuple_size },
	{ "PyTuple_GetItem", &aj_plain_py.tuple_item },
	{ "PyDict_GetItemWithError", &aj_plain_py.dict_item },
	{ "PySet_Contains", &aj_plain_py.contains },
	{ "PySet_Add", &aj_plain_py.add },
	{ "PyLong_AsLong", &aj_plain_py.number },
	{ "PyLong_FromUnsignedLongLong", &aj_plain_py.unsigned_number },
	{ "PyBool_FromLong", &aj_plain_py.boolean },
	{ "PyTuple_Pack", &aj_plain_py.tuple },
	{ "PyObject_CallFunctionObjArgs", &aj_plain_py.call },
	{ "PyCFunction_NewEx", &aj_plain_py.function },
	{ "Py_CompileString", &aj_plain_py.compile_text },
	{ "PyErr_ExceptionMatches", &aj_plain_py.is_error },
	{ "PyErr_Occurred", &aj_plain_py.error },
	{ "PyErr_Clear", &aj_plain_py.clear },
	{ "Py_IncRef", &aj_plain_py.keep },
	{ "PyExc_Exception", &aj_plain_py.exception },
	{ "_Py_NoneStruct", &aj_plain_py.none },
	{ "PyList_Type", &aj_plain_py.list },
};

static const struct {
	const char *text;
	object **slot;
} interned[] = {
	{ "id", &aj_plain_names.id },
	{ "ctx", &aj_plain_names.ctx },
	{ "attr", &aj_plain_names.attr },
	{ "arg", &aj_plain_names.arg },
	{ "args", &aj_plain_names.args },
	{ "func", &aj_plain_names.func },
	{ "name", &aj_plain_names.name },
	{ "names", &aj_plain_names.names },
	{ "asname", &aj_plain_names.asname },
	{ "module", &aj_plain_names.module },
	{ "level", &aj_plain_names.level },
	{ "keywords", &aj_plain_names.keywords },
	{ "value", &aj_plain_names.value },
	{ "body", &aj_plain_names.body },
	{ "exec", &aj_plain_names.exec },
	{ "variable", &aj_plain_names.variable },
	{ "argument", &aj_plain_names.argument },
	{ "function", &aj_plain_names.function },
	{ "class", &aj_plain_names.class },
	{ "except", &aj_plain_names.except },
	{ "global", &aj_plain_names.global },
	{ "import", &aj_plain_names.import },
	{ "from", &aj_plain_names.from },
};

static const struct {
	const char *name;
	object **slot;
} tables[] = {
	{ "compile", &aj_plain_layer.compile },
	{ "PARSE_FLAGS", &aj_plain_layer.parse_flags },
	{ "CODE_FLAGS", &aj_plain_layer.code_flags },
	{ "DONT_INHERIT", &aj_plain_layer.yes },
	{ "REFUSED_ATTRIBUTES", &aj_plain_layer.refused_attributes },
	{ "READ_SPECIALS", &aj_plain_layer.read_specials },
	{ "BOUND_SPECIALS", &aj_plain_layer.bound_specials },
	{ "LOADED_SPECIALS", &aj_plain_layer.loaded_specials },
	{ "LOOKED_AT_CALLS", &aj_plain_layer.looked_at_calls },
};

static object *module;

const char *aj_plain_find(void)
{
	struct aj_plain_py *py = &aj_plain_py;
	const char *missing = aj_python_symbols(symbols, sizeof symbols / sizeof *symbols);
	if (missing)
		return missing;
	for (size_t i = 0; i < sizeof interned / sizeof *interned; i++)
		if (!(*interned[i].slot = py->intern(interned[i].text)))
			return interned[i].text;
	module = py->import("agentjail.check.plain_code");
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (!module || !(*tables[i].slot = py->attribute(module, tables[i].name)))
			return tables[i].name;
	return NULL;
}

bool aj_plain_find_nodes(void)
{
	static const struct {
		const char *name;
		object **slot;
	} types[] = { { "Name", &aj_plain_layer.Name }, { "Load", &aj_plain_layer.Load }, { "Expr", &aj_plain_layer.Expr } };
	object *ast = aj_plain_py.import("_ast"), *make = aj_plain_py.attribute(module, "new_assignment");
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (!ast || !(*types[i].slot = aj_plain_py.attribute(ast, types[i].name)))
			return false;
	aj_plain_layer.assign = make ? aj_plain_py.call(make, NULL) : NULL;
	return aj_plain_layer.assign;
}

int aj_plain_offer(enum aj_plain_offered which, object *(*function)(object *, object *))
{
	static struct {
		const char *name;
		object *(*function)(object *, object *);
		int flags;
		const char *text;
	} methods[] = {
		/* static: PyMethodDefs must stay valid */
		[AJ_OFFER_COMPILE_PLAIN] = { .name = "compile_plain", .flags = VARARGS },
		[AJ_OFFER_FREEZE_TYPE] = { .name = "freeze_type", .flags = VARARGS },
	};
	methods[which].function = function;
	object *made = aj_plain_py.function(&methods[which], NULL, NULL);
	return made ? aj_plain_py.set_attribute(module, methods[which].name, made) : -1;
}
