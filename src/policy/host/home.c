/* Finds the caller's home and state folder, by the environment and by /etc/passwd.
 * It makes no folder, and takes none for a home that is / or that belongs to another user. */
#include "policy/host/home.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

static const char *real(const char *path, struct aj_arena *arena)
{
	char *found = realpath(path, NULL);
	const char *copy = found ? aj_strdup(arena, found) : NULL;
	free(found);
	return copy;
}

static const char *home_at(const char *home, struct aj_arena *arena)
{
	struct stat st;
	home = home && home[0] == '/' ? real(home, arena) : NULL;
	bool ours = home && stat(home, &st) == 0 && (st.st_uid == geteuid() || geteuid() == 0);
	return ours && strcmp(home, "/") != 0 ? home : NULL;
}

const char *aj_home_of_caller(struct aj_arena *arena)
{
	const char *home = secure_getenv("HOME");
	return home_at(home || geteuid() != 0 ? home : "/root", arena);
}

const char *aj_home_listed(struct aj_arena *arena)
{
	const char *home = NULL;
	FILE *users = fopen("/etc/passwd", "re");
	for (const struct passwd *one; users && !home && (one = fgetpwent(users));)
		if (one->pw_uid == geteuid())
			home = home_at(one->pw_dir, arena);
	if (users)
		fclose(users);
	return home;
}

/* The folder that the variable names, or `below` in the home. */
static const char *home_place(const char *variable, const char *below, struct aj_arena *arena)
{
	const char *state = secure_getenv(variable), *home = aj_home_of_caller(arena), *found = NULL;
	if (!home)
		home = aj_home_listed(arena);
	if (!state || state[0] != '/')
		state = home ? aj_printf(arena, "%s/%s", home, below) : NULL;
	if (!state)
		return NULL;
	state = aj_path_simplify(state, arena);
	const char *there = state; /* the part that exists */
	while (!(found = real(there, arena)) && strcmp(there, "/") != 0)
		there = aj_path_folder(there, arena);
	const char *rest = found ? state + (strcmp(there, "/") == 0 ? 0 : strlen(there)) : NULL;
	return !rest ? NULL : strcmp(found, "/") == 0 ? rest : aj_printf(arena, "%s%s", found, rest);
}

const char *aj_home_state(struct aj_arena *arena)
{
	return home_place("XDG_STATE_HOME", ".local/state", arena);
}

const char *aj_home_data(struct aj_arena *arena)
{
	return home_place("XDG_DATA_HOME", ".local/share", arena);
}

const char *aj_home_policies(const char *home, struct aj_arena *arena)
{
	return home ? aj_printf(arena, "%s/.config/agentjail/policies", home) : NULL;
}
