/* Programs that are there and cannot be started, since what runs them is not there. */
#pragma once
#include "base/error.h"

/* execvp(`program`) has failed with ENOENT. If the program itself is there, fill `err` with the interpreter or loader that it names;
 * else `err` stays as it is, and so does errno. */
void aj_interpreter_missing(const char *program, struct aj_error *err);
