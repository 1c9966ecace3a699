/* Finds the file that execvp(3) would start for a program's name, without starting it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The name itself where it has a slash, else the first match on PATH. False: no executable regular file, or its path is too
 * long. */
bool aj_program_find(const char *name, char *out, size_t out_bytes);
