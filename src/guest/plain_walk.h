/* The walk over a syntax tree that accepts plain code, and the names that the code binds. */
#pragma once
#include <stdbool.h>

#include "guest/plain_python.h"

enum { AJ_PLAIN_BOUND_MAX = 1000, AJ_PLAIN_READS_MAX = 1000 };

struct aj_plain_walk {
	object *allowed;  /* set of modules that may be imported, by their full names */
	object *bindings; /* kind of binding -> set of names, of the snippets before */
	size_t nodes, bound, reads;
	struct {
		object *name, *kind; /* the name is ours */
	} binding[AJ_PLAIN_BOUND_MAX];
	object *read[AJ_PLAIN_READS_MAX]; /* names of which a private attribute is used, which no module's may be; ours */
};

/* Is it plain code? The walk has its two sets, and holds no names yet. */
bool aj_plain_accept(struct aj_plain_walk *w, object *tree);
/* Add the names that the accepted code binds to the set of bindings. */
bool aj_plain_keep_bindings(const struct aj_plain_walk *w);
/* Release all names, also after code that was declined. */
void aj_plain_forget(struct aj_plain_walk *w);
