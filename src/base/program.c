/* Searches PATH for a program, as execvp(3) does.
 * Only executable regular files count: a folder of that name is skipped. */
#include "base/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool aj_program_find(const char *name, char *out, size_t out_bytes)
{
	const char *path = getenv("PATH");
	if (strchr(name, '/'))
		return (size_t)snprintf(out, out_bytes, "%s", name) < out_bytes && is_program(out);
	while (path && *path) {
		size_t bytes = strcspn(path, ":");
		if ((size_t)snprintf(out, out_bytes, "%.*s/%s", (int)bytes, path, name) < out_bytes && is_program(out))
			return true;
		path += bytes + (path[bytes] == ':');
	}
	return false;
}
