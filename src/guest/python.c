/* Looks up and calls the interpreter that the runner was preloaded into.
 * It holds no state of its own and leaves no Python exception set. */
#include "guest/python.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

/* AJ_PYTHON_ENV of policy/policy.h: where a jail has the packages of its environment. */
#define PACKAGES "/env"

static void (*py_initialize)(int);
static object *(*py_import)(const char *);
static object *(*py_getattr)(object *, const char *);
static object *(*py_from_bytes)(const char *, ssize_t);
static object *(*py_call)(object *, ...);
static int (*py_bytes_get)(object *, char **, ssize_t *);
static void (*py_clear)(void);
static void (*py_print)(void);
static object **py_not_found;
static int (*py_matches)(object *);
static void (*py_fetch)(object **, object **, object **);
static void (*py_normalize)(object **, object **, object **);
static const char *(*py_version)(void);
static int (*py_gc)(void);
static int (*py_gc_off)(void);
static void (*py_forget)(object *);
static void *(*py_allocate)(size_t);
static void (*py_before_fork)(void);
static void (*py_after_fork_child)(void);
static void (*py_after_fork_parent)(void);

static const struct aj_python_symbol symbols[] = {
	{ "Py_InitializeEx", &py_initialize },
	{ "PyImport_ImportModule", &py_import },
	{ "PyObject_GetAttrString", &py_getattr },
	{ "PyBytes_FromStringAndSize", &py_from_bytes },
	{ "PyObject_CallFunctionObjArgs", &py_call },
	{ "PyBytes_AsStringAndSize", &py_bytes_get },
	{ "PyErr_Clear", &py_clear },
	{ "PyErr_Print", &py_print },
	{ "PyExc_ModuleNotFoundError", &py_not_found },
	{ "PyErr_ExceptionMatches", &py_matches },
	{ "PyErr_Fetch", &py_fetch },
	{ "PyErr_NormalizeException", &py_normalize },
	{ "Py_GetVersion", &py_version },
	{ "PyGC_Enable", &py_gc },
	{ "PyGC_Disable", &py_gc_off },
	{ "Py_DecRef", &py_forget },
	{ "PyObject_Malloc", &py_allocate },
	{ "PyOS_BeforeFork", &py_before_fork },
	{ "PyOS_AfterFork_Child", &py_after_fork_child },
	{ "PyOS_AfterFork_Parent", &py_after_fork_parent },
};

/* Like `python3 -I -S -B -X utf8`: no site, no environment, no user folder, no bytecode written. */
static const struct {
	const char *name;
	int value;
} flags[] = {
	{ "Py_IsolatedFlag", 1 },        { "Py_IgnoreEnvironmentFlag", 1 }, { "Py_NoSiteFlag", 1 },
	{ "Py_NoUserSiteDirectory", 1 }, { "Py_DontWriteBytecodeFlag", 1 }, { "Py_UTF8Mode", 1 },
	{ "Py_UnbufferedStdioFlag", 0 },
};

enum { FLAGS_OF_ENV = 2 }; /* the first ones, by which Python ignores PYTHON* */

const char *aj_python_symbols(const struct aj_python_symbol *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void *found = dlsym(RTLD_DEFAULT, wanted[i].name);
		if (!found)
			return wanted[i].name;
		memcpy(wanted[i].slot, &found, sizeof found);
	}
	return NULL;
}

const char *aj_python_find(void)
{
	static char text[128];
	const char *missing = aj_python_symbols(symbols, sizeof symbols / sizeof *symbols);
	if (missing) {
		snprintf(text, sizeof text, "this Python does not export %s", missing);
		return text;
	}
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		int *flag = dlsym(RTLD_DEFAULT, flags[i].name);
		if (!flag)
			return "this Python lacks the flags for isolated mode";
		/* The environment is the plan's; a seed in it would be ignored as the rest of it is. */
		*flag = i < FLAGS_OF_ENV && getenv("PYTHONHASHSEED") ? 0 : flags[i].value;
	}
	return NULL;
}

/* The rootfs' library path, set in advance so that Python does not search for it; Python 3.13 removed the call, and there the
 * search from /usr/bin/python3 finds the same path. */
static void set_path(void)
{
	void (*py_set_path)(const wchar_t *);
	void *found = dlsym(RTLD_DEFAULT, "Py_SetPath");
	int major = 0, minor = 0;
	if (!found || sscanf(py_version(), "%d.%d", &major, &minor) != 2)
		return;
	memcpy(&py_set_path, &found, sizeof found);
	static const wchar_t folders[] = L"%ls/usr/lib/python%d.%d:/usr/lib/python%d.%d/lib-dynload:/usr/lib/python3/dist-packages%ls";
	wchar_t path[256];
	/* An environment's packages need ctypes and ssl, which the standard library of the tree lacks. */
	bool env = access(PACKAGES, F_OK) == 0;
	swprintf(path, sizeof path / sizeof *path, folders, env ? L"/usr/lib/python3/for-packages:" : L"", major, minor, major,
	         minor, env ? L":" PACKAGES : L"");
	py_set_path(path);
}

void aj_python_start(void)
{
	set_path();
	py_initialize(0);
}

object *aj_python_import(const char *module)
{
	object *type = NULL, *value = NULL, *traceback = NULL;
	if (py_import(module))
		return NULL;
	if (py_matches(*py_not_found)) {
		py_clear();
		return NULL;
	}
	py_fetch(&type, &value, &traceback);
	py_normalize(&type, &value, &traceback);
	aj_python_release(type);
	aj_python_release(traceback);
	return value;
}

object *aj_python_function(const char *module, const char *name)
{
	object *found = py_import(module);
	object *function = found ? py_getattr(found, name) : NULL;
	if (!function)
		py_print();
	return function;
}

object *aj_python_call_both(object *function, object *first, object *second)
{
	object *value = first && second ? py_call(function, first, second, NULL) : NULL;
	if (!value)
		py_print();
	return value;
}

object *aj_python_call(object *function, const char *first, size_t first_bytes, const char *second, size_t second_bytes)
{
	object *one = first ? py_from_bytes(first, (ssize_t)first_bytes) : NULL;
	object *two = second ? py_from_bytes(second, (ssize_t)second_bytes) : NULL;
	object *value = (first && !one) || (second && !two) ? NULL : py_call(function, one, two, NULL);
	if (!value)
		py_print();
	aj_python_release(one);
	aj_python_release(two);
	return value;
}

object *aj_python_from_bytes(const char *bytes, size_t count)
{
	return py_from_bytes(bytes, (ssize_t)count);
}

int aj_python_bytes(object *value, char **ret, ssize_t *ret_bytes)
{
	return py_bytes_get(value, ret, ret_bytes);
}

void aj_python_release(object *value)
{
	if (value)
		py_forget(value);
}

void aj_python_collect(int on)
{
	if (on)
		py_gc();
	else
		py_gc_off();
}

void *aj_python_allocate(size_t bytes)
{
	return py_allocate(bytes);
}

void aj_python_before_fork(void)
{
	py_before_fork();
}

void aj_python_after_fork(int child)
{
	if (child)
		py_after_fork_child();
	else
		py_after_fork_parent();
}

void *aj_python_next(const char *symbol)
{
	return dlsym(RTLD_NEXT, symbol);
}
