/* Does a repository have an object? */
#pragma once
#include <stdbool.h>

#include "workspace/changes/main_content.h"

/* Is there an object of that name on the host, or, with `added`, among those that an apply would add? `name`: in hexadecimal digits. True
 * also where the host's objects lie in another place, too. */
bool aj_main_has_object(const struct aj_main *whole, const char *name, bool added);
