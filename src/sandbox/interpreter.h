/* Finds out whether a program could not be started because its interpreter or loader is missing. */
#pragma once
#include "base/error.h"

/* execvp(`program`) has failed with ENOENT. If the program itself is there, fill `err` with the interpreter or loader that it
 * names; else `err` stays as it is, and so does errno. */
void aj_interpreter_missing(const char *program, struct aj_error *err);
