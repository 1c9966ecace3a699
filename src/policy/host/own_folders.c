/* Opens agentjail's own folders below the caller's state folder, one descriptor beneath the other.
 * It follows no symlink below the path that aj_home_state() has resolved, and opens no folder that another user may write. */
#include "policy/host/own_folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/host/home.h"

#define OURS "agentjail"

const char *aj_state_path(struct aj_arena *arena)
{
	const char *state = aj_home_state(arena);
	return state ? aj_printf(arena, "%s/" OURS, strcmp(state, "/") == 0 ? "" : state) : NULL;
}

int aj_state_open_above(const char *path, bool make)
{
	struct aj_arena arena = { 0 };
	const char *folder = aj_path_folder(path, &arena);
	for (const char *at = folder; make && *at; at += strcspn(at, "/"))
		if (*++at)
			mkdir(aj_strndup(&arena, folder, (size_t)(at - folder) + strcspn(at, "/")), 0700);
	int fd = aj_beneath_open(AT_FDCWD, folder, O_PATH | O_DIRECTORY);
	aj_arena_free(&arena);
	return fd;
}

bool aj_state_is_ours(int folder)
{
	struct stat st;
	errno = EPERM;
	return fstat(folder, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022);
}

int aj_state_go_down(int *dir, const char *name, bool make)
{
	bool there = !make || mkdirat(*dir, name, 0700) == 0 || errno == EEXIST;
	int next = there ? aj_beneath_open(*dir, name, O_RDONLY | O_DIRECTORY) : -1;
	aj_close(dir);
	*dir = next;
	if (next >= 0 && !aj_state_is_ours(next))
		aj_close(dir);
	return *dir < 0 ? -1 : 0;
}

static bool is_named(void)
{
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	return (state && state[0] == '/') || (home && home[0] == '/');
}

int aj_state_folder(const char *name, bool make)
{
	struct aj_arena arena = { 0 };
	const char *ours = is_named() ? aj_state_path(&arena) : NULL;
	cleanup_fd int dir = ours ? aj_state_open_above(ours, make) : -1;
	if (!ours)
		errno = ENOENT;
	if (dir >= 0 && aj_state_go_down(&dir, OURS, make) == 0 && name)
		aj_state_go_down(&dir, name, make);
	aj_arena_free(&arena);
	return aj_steal(&dir);
}
