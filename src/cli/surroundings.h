/* The working directory and the environment variables of the caller that a command gets. */
#pragma once
#include "cli/options/options.h"

/* The policy is loaded: the working directory becomes the workspace where the policy says so, and the caller's variables that the
 * policy names are passed on. */
void aj_surroundings_take(struct aj_options *options);
/* The request's workspace is an absolute path by now: a command starts where its caller stands, if the jail has that folder. */
void aj_surroundings_start(struct aj_options *options);
