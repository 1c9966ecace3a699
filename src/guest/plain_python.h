/* The parts of the interpreter that plain requests, the walk over plain code, and its compilation use: functions of its stable
 * interface, names made once, tables of the layer. No Python header. */
#pragma once
#include <stdbool.h>

#include "guest/python.h"

struct aj_plain_py {
	object *(*import)(const char *);
	object *(*attribute)(object *, const char *);
	int (*set_attribute)(object *, const char *, object *);
	object *(*get)(object *, object *);
	int (*set)(object *, object *, object *);
	object *(*type)(object *);
	object *(*intern)(const char *);
	object *(*text)(const char *, ssize_t);
	const char *(*utf8)(object *, ssize_t *);
	ssize_t (*list_size)(object *);
	object *(*list_item)(object *, ssize_t);
	int (*list_set)(object *, ssize_t, object *);
	ssize_t (*tuple_size)(object *);
	object *(*tuple_item)(object *, ssize_t);
	object *(*dict_item)(object *, object *);
	int (*contains)(object *, object *);
	int (*add)(object *, object *);
	long (*number)(object *);
	object *(*unsigned_number)(unsigned long long);
	object *(*boolean)(long);
	object *(*tuple)(ssize_t, ...);
	object *(*call)(object *, ...);
	object *(*function)(void *, object *, object *);
	object *(*compile_text)(const char *, const char *, int);
	int (*is_error)(object *);
	object *(*error)(void);
	void (*clear)(void);
	void (*keep)(object *);
	object **exception;
	object *none, *list;
};
extern struct aj_plain_py aj_plain_py;

/* Names of fields, and kinds of bindings. */
struct aj_plain_names {
	object *id, *ctx, *attr, *arg, *args, *func, *name, *names, *asname, *module, *level, *keywords, *value, *body;
	object *exec;
	/* kinds of bindings, as check/checker.py has them */
	object *variable, *argument, *function, *class, *except, *global, *import, *from;
};
extern struct aj_plain_names aj_plain_names;

/* The tables of check/plain_code.py. */
struct aj_plain_layer {
	object *compile, *parse_flags, *code_flags, *yes;
	object *refused_attributes, *read_specials, *bound_specials, *loaded_specials, *looked_at_calls;
	object *Name, *Load, *Expr, *assign; /* nodes */
};
extern struct aj_plain_layer aj_plain_layer;

/* NULL, or the name of what is missing: fills all three, but for the nodes of the layer's. */
const char *aj_plain_find(void);
/* False: a class of _ast is missing. Fills the rest. */
bool aj_plain_find_nodes(void);
/* The type of an object that lives on; the caller gets no reference. */
static inline object *aj_plain_type_of(object *o)
{
	object *type = aj_plain_py.type(o);
	aj_python_release(type);
	return type;
}
enum aj_plain_offered { AJ_OFFER_COMPILE_PLAIN, AJ_OFFER_FREEZE_TYPE };
/* Offer a C function to the layer, under its name in check/plain_code.py. */
int aj_plain_offer(enum aj_plain_offered which, object *(*function)(object *, object *));
