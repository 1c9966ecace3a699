/* The table of options. For options.c alone. */
#pragma once
#include "cli/options/parsed.h"

struct aj_option {
	const char *name, *value; /* value: NULL for a switch; name: NULL in the heading of the rows below it */
	int commands;
	/* Exactly one of `set` and `key`, or neither: then the option is the snippet's member of this name, or a row of
	 * serve_options.c. */
	const char *(*set)(struct aj_options *o, const char *value);
	const char *key; /* the policy key that the option sets */
	const char *help;
};
extern const struct aj_option aj_option_table[]; /* the last row has no help */

/* NULL, or why the value is wrong. */
const char *aj_option_apply(struct aj_options *options, const struct aj_option *option, const char *value);
