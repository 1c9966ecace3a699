/* The few functions of Python's stable C interface that the runner uses, looked up in the interpreter that preloads it.
 * No Python header and no linking: a missing function is reported by its name. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

typedef struct object object;

struct aj_python_symbol {
	const char *name;
	void *slot; /* of a pointer: gets the symbol's address */
};
/* NULL, or the name of the first one that this interpreter does not export. */
const char *aj_python_symbols(const struct aj_python_symbol *symbols, size_t count);

/* Find the functions, set isolated mode. NULL, or the name of a missing function. */
const char *aj_python_find(void);
/* Start the interpreter. */
void aj_python_start(void);
/* Import a module. NULL, also where there is none of this name; or the exception, with its traceback released. */
object *aj_python_import(const char *module);
/* module.name, or NULL after printing the reason. */
object *aj_python_function(const char *module, const char *name);
/* Call it with up to two byte strings (NULL: fewer). The result, or NULL after printing the reason. */
object *aj_python_call(object *function, const char *first, size_t first_bytes, const char *second, size_t second_bytes);
/* Call it with two objects, which stay the caller's; one that is NULL could not be made. Returns NULL after printing the
 * reason. */
object *aj_python_call_both(object *function, object *first, object *second);
/* A bytes object, or NULL with Python's error set. */
object *aj_python_from_bytes(const char *bytes, size_t count);
/* The bytes of a bytes object, valid as long as the object; -1 for another type. */
int aj_python_bytes(object *value, char **ret, ssize_t *ret_bytes);
void aj_python_release(object *value);
void aj_python_collect(int on); /* the garbage collector */
/* Memory as objects get it. */
void *aj_python_allocate(size_t bytes);

/* Call around a fork that is not libc's own. */
void aj_python_before_fork(void);
void aj_python_after_fork(int child);

/* The next definition of a symbol that the runner interposes, or NULL. */
void *aj_python_next(const char *symbol);
