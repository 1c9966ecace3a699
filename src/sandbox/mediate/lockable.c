/* Finds out whether a jail may lock an open file, by the mount through which the kernel says it was opened.
 * Resolves no path that the jail could arrange, opens nothing, and treats an unknown file as the host's. */
#include "sandbox/mediate/lockable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/procfs.h"
#include "policy/plan/is_allowed.h"
#include "sandbox/mounts/overlay.h"

enum { MOUNTINFO_MAX = 4 << 20 };

/* --- the jail's mounts --- */

static char *read_all(const char *path)
{
	size_t room = 1 << 14, used = 0;
	char *text = NULL;
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	for (ssize_t n = 1; fd >= 0 && n > 0 && room <= MOUNTINFO_MAX; room *= 2) {
		char *more = realloc(text, room);
		if (!more)
			break;
		text = more;
		while (used < room - 1 && (n = read(fd, text + used, room - 1 - used)) > 0)
			used += (size_t)n;
		text[used] = '\0';
		if (n == 0)
			return text;
	}
	free(text);
	return NULL;
}

static bool has_option(const char *options, const char *name)
{
	size_t bytes = strlen(name);
	for (const char *at = options; (at = strstr(at, name)); at += bytes)
		if ((at == options || at[-1] == ',') && (at[bytes] == ',' || at[bytes] == '\0'))
			return true;
	return false;
}

/* number parent device root place options [tags] - type source super-options */
static bool may_lock_below(const struct aj_plan *plan, char *line, uint64_t *ret_number)
{
	enum { NUMBER, PARENT, DEVICE, ROOT, PLACE, OPTIONS, FIELDS };
	char *field[FIELDS], *rest = strstr(line, " - ");
	if (!rest)
		return false;
	*rest = '\0';
	char *super = rest + strlen(" - ");
	char *type = strsep(&super, " ");
	strsep(&super, " "); /* the mount source */
	for (int i = 0; i < FIELDS; i++)
		if (!(field[i] = strsep(&line, " ")))
			return false;
	*ret_number = strtoul(field[NUMBER], NULL, 10);
	aj_procfs_unescape(field[PLACE]);
	/* Our own overlays: a bound overlay of the host's has other layers. */
	if (strcmp(type, "overlay") == 0 && super && has_option(super, "lowerdir=" AJ_OVERLAY_LAYERS))
		return true;
	const struct aj_mount *row = aj_plan_match_path(plan, field[PLACE]).row;
	if (!row)
		return strcmp(field[PLACE], "/") == 0 && strcmp(type, "tmpfs") == 0;
	if (aj_mount_is_scratch(row))
		return strcmp(field[PLACE], row->target) == 0;
	/* Held places in a shared folder are mounts of their own, and read-only. */
	return aj_mount_is_shared(row) && has_option(field[OPTIONS], "rw");
}

int aj_lockable_find(struct aj_lockable *l, const struct aj_plan *plan, pid_t tid, const int pipes[AJ_LOCKABLE_PIPES])
{
	char path[40];
	struct stat st;
	snprintf(path, sizeof path, "/proc/%d/mountinfo", tid);
	char *text = read_all(path), *rest = text;
	size_t lines = 0;
	if (!text)
		return -1;
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	uint64_t *mounts = calloc(lines + 1, sizeof *mounts);
	free(l->mounts);
	*l = (struct aj_lockable){ .mounts = mounts, .known = mounts };
	for (char *line; mounts && (line = strsep(&rest, "\n")) && l->count < lines;)
		if (may_lock_below(plan, line, &mounts[l->count]))
			l->count++;
	for (int i = 0; i < AJ_LOCKABLE_PIPES; i++)
		if (pipes[i] >= 0 && fstat(pipes[i], &st) == 0 && S_ISFIFO(st.st_mode)) {
			l->pipe_dev[i] = st.st_dev;
			l->pipe_ino[i] = st.st_ino;
		}
	free(text);
	return mounts ? 0 : -1;
}

void aj_lockable_free(struct aj_lockable *l)
{
	free(l->mounts);
	*l = (struct aj_lockable){ 0 };
}

/* --- an open file --- */

static int is_lockable(const struct aj_lockable *l, int folder, const char *path, int flags)
{
	struct statx st;
	/* Cached attributes: a network file system must not be asked. */
	if (statx(folder, path, flags | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO | STATX_MNT_ID, &st) < 0)
		return -1;
	dev_t dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	for (int i = 0; i < AJ_LOCKABLE_PIPES; i++)
		if (S_ISFIFO(st.stx_mode) && l->pipe_ino[i] && st.stx_ino == l->pipe_ino[i] && dev == l->pipe_dev[i])
			return 1;
	if (!(st.stx_mask & STATX_MNT_ID) || (!S_ISREG(st.stx_mode) && !S_ISDIR(st.stx_mode)))
		return 0;
	for (size_t i = 0; i < l->count; i++)
		if (l->mounts[i] == st.stx_mnt_id)
			return 1;
	return 0;
}

/* A path for /proc: opening the folder for two questions would be a notable part of a lock's cost. */
static int proc_prefix(pid_t tid, char path[48])
{
	path[0] = '\0';
	return tid ? snprintf(path, 48, "%d/", tid) : 0;
}

int aj_lockable_at(const struct aj_lockable *l, int folder, pid_t tid, int number)
{
	char path[48];
	int n = proc_prefix(tid, path);
	snprintf(path + n, sizeof path - (size_t)n, "fd/%d", number);
	return is_lockable(l, folder, path, 0);
}

int aj_lockable_fd(const struct aj_lockable *l, int fd)
{
	return is_lockable(l, fd, "", AT_EMPTY_PATH);
}

bool aj_lockable_has_lock(int folder, int number)
{
	char path[32], text[4096];
	snprintf(path, sizeof path, "fdinfo/%d", number);
	cleanup_fd int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES;
	ssize_t n = read(fd, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	const char *lock = strstr(text, "\nlock:");
	return lock && strstr(lock, "POSIX");
}

int aj_lockable_range(const struct aj_notification *call, struct flock *ret)
{
	return aj_notify_read(call, 2, ret, sizeof *ret) == 0 ? 0 : EFAULT;
}

int aj_lockable_threads(int folder, pid_t tid)
{
	struct stat st;
	char path[48];
	strcpy(path + proc_prefix(tid, path), "task");
	/* st_nlink of the task folder: one link for each thread, plus two. */
	return fstatat(folder, path, &st, 0) < 0 ? 0 : (int)st.st_nlink - 2;
}
