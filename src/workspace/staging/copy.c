/* Copies a workspace: data by reference where the file system can, hard links as hard links, symlinks as text.
 * It opens only regular files and folders, follows no symlink, enters no other mount, and is limited in number, size and time. */
#include "workspace/staging/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/buffer.h"
#include "base/capset.h"
#include "base/fd.h"
#include "base/ids.h"
#include "base/path.h"
#include "base/tree/content.h"

enum { LEVELS_MAX = 200, LIST_FLUSH = 1 << 16, PER_LOOK = 64, FILES_MAX = 2000000, TIME_MAX_MS = 600000, PROGRESS_US = 3000000 };
static const uint64_t BYTES_MAX = 64ULL << 30;
enum { MODE = 01777 }; /* no set-id bits */

/* The first name of a file with several: the others become links to its copy. */
struct named {
	dev_t dev;
	ino_t ino;
	char *path;
};

struct copy {
	const struct aj_copy_job *job;
	struct aj_arena *arena;
	struct aj_copied_tree *done;
	struct aj_error *err;
	struct aj_buffer list;
	void *links; /* a tree of struct named */
	uint64_t files_max, bytes_max;
	int64_t deadline_us, reported_us;
	dev_t dev;
	uid_t owner; /* of the workspace */
	size_t looked;
	char path[PATH_MAX]; /* of the entry, below the workspace */
	size_t path_bytes;
};

static const char *name_of(const struct copy *c)
{
	return c->job->name ? c->job->name : "the workspace";
}

static int fail(struct copy *c, int errnum, const char *what)
{
	aj_fail(c->err, AJ_EXIT_SETUP, "copy", errnum, "%s `%s` of %s", what, c->path_bytes ? c->path : ".", name_of(c));
	if (errnum == ENOSPC || errnum == EDQUOT)
		aj_advise(c->err,
		          "make room in the state directory, name another one with XDG_STATE_HOME, or use --workspace-mode overlay");
	return -1;
}

static int refuse(struct copy *c, const char *why)
{
	aj_fail(c->err, AJ_EXIT_SETUP, "copy", 0, "%s is not copied: %s (%llu files and %llu MiB so far)", name_of(c), why,
	        (unsigned long long)c->done->files, (unsigned long long)c->done->bytes >> 20);
	aj_advise(c->err,
	          "use --workspace-mode overlay, which copies a file when it is changed, --workspace-mode rw, which changes the folder "
	          "itself, or a smaller folder");
	return -1;
}

static void skip_entry(struct copy *c)
{
	if (c->done->skipped_count++ < AJ_COPY_SKIPPED_MAX)
		*AJ_PUSH(c->arena, &c->done->skipped) = aj_strdup(c->arena, c->path);
}

static bool is_denied(int error)
{
	return error == EACCES || error == EPERM;
}

/* A copy for another id is made by root, who can open more files than the workspace's owner: may the owner open `fd` with these
 * rights (R_OK, X_OK)? The kernel is asked, which knows access lists, for a thread with the owner's id and without capabilities.
 * -1 with errno: no, if is_denied(), or it cannot be told. The groups are what the jail would have in an overlay: the folder's
 * alone, see aj_copy_workspace(). */
static int owner_may(const struct copy *c, int fd, int rights)
{
	struct aj_capset before, none;
	if (!c->job->give)
		return 0;
	if (aj_capset_get(&before) < 0)
		return -1;
	none = before;
	none.half[0].effective = none.half[1].effective = 0;
	setfsuid(c->owner);
	int r = aj_capset_set(&none) < 0 ? -1 : (int)syscall(SYS_faccessat2, fd, "", rights, AT_EACCESS | AT_EMPTY_PATH);
	int error = errno;
	setfsuid(geteuid());
	if (aj_capset_set(&before) < 0)
		return -1;
	errno = error;
	return r;
}

/* --- the list --- */

static int flush_list(struct copy *c, size_t above)
{
	if (c->list.bytes <= above)
		return 0;
	if (aj_write_all(c->job->list, c->list.data, c->list.bytes) < 0)
		return fail(c, errno, "write the list of the copy, at");
	c->list.bytes = 0;
	return 0;
}

static int list_entry(struct copy *c, char type, const struct stat *st)
{
	char line[160];
	int n = snprintf(line, sizeof line, "%c %o %lld %lld %lld %llu ", type, st->st_mode & 07777, (long long)st->st_size,
	                 (long long)aj_ns_of(st->st_mtim), (long long)aj_ns_of(st->st_ctim), (unsigned long long)st->st_ino);
	aj_buffer_add(&c->list, line, (size_t)n);
	for (const char *at = c->path; *at; at++)
		aj_buffer_add(&c->list, *at == '\n' ? "\\n" : *at == '\\' ? "\\\\" : at, *at == '\n' || *at == '\\' ? 2 : 1);
	aj_buffer_add(&c->list, "\n", 1);
	return flush_list(c, LIST_FLUSH);
}

/* --- limits --- */

static bool signal_waits(void)
{
	sigset_t set;
	return sigpending(&set) == 0 && (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) || sigismember(&set, SIGHUP));
}

static int keep_limits(struct copy *c)
{
	char text[120];
	if (c->done->files > c->files_max)
		return refuse(c, "it has too many files");
	if (++c->looked % PER_LOOK)
		return 0;
	int64_t now_us = aj_now_us();
	if (now_us > c->deadline_us)
		return refuse(c, "it takes too long");
	if (signal_waits())
		return refuse(c, "a signal came");
	if (c->job->progress && now_us > c->reported_us) {
		snprintf(text, sizeof text, "copying %s: %llu files, %llu MiB so far", name_of(c),
		         (unsigned long long)c->done->files, (unsigned long long)c->done->bytes >> 20);
		c->job->progress(text);
		c->reported_us = now_us + PROGRESS_US;
	}
	return 0;
}

/* --- one entry --- */

static int give_away(const struct copy *c, int fd)
{
	return c->job->give ? fchown(fd, c->job->uid, c->job->gid) : 0;
}

static int copy_data(struct copy *c, int from, int to, off_t bytes)
{
	uint64_t most = c->bytes_max - c->done->bytes, left = most;
	int ended = aj_content_copy(from, to, bytes, &left);
	c->done->bytes += most - left;
	/* A file that became shorter meanwhile ends with zeros. */
	return ended > 0 && left == 0 ? refuse(c, "its files are too large") : ended < 0 ? fail(c, errno, "copy") : 0;
}

static int by_inode(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	return x->ino != y->ino ? (x->ino < y->ino ? -1 : 1) : x->dev != y->dev ? (x->dev < y->dev ? -1 : 1) : 0;
}

/* 1: the file is copied already, and now has this name too. */
static int copy_link_to(struct copy *c, int to_dir, const char *name, const struct stat *st)
{
	if (st->st_nlink < 2)
		return 0;
	struct named *one = aj_alloc(c->arena, sizeof *one);
	*one = (struct named){ st->st_dev, st->st_ino, c->path };
	struct named **found = tsearch(one, &c->links, by_inode);
	if (!found)
		abort();
	if (*found != one)
		return linkat(c->job->to, (*found)->path, to_dir, name, 0) == 0 ? 1 : errno == EMLINK ? 0 : -1;
	one->path = aj_strdup(c->arena, c->path);
	return 0;
}

static int copy_file(struct copy *c, int from_dir, int to_dir, const char *name)
{
	struct stat st;
	cleanup_fd int from = aj_beneath_open_here(from_dir, name, O_RDONLY);
	if (from < 0 && (errno == EACCES || errno == ENOENT || errno == ELOOP || errno == EXDEV)) {
		if (errno != ENOENT)
			skip_entry(c);
		return 0;
	}
	if (from < 0 || fstat(from, &st) < 0)
		return fail(c, errno, "open");
	int may = S_ISREG(st.st_mode) ? owner_may(c, from, R_OK) : 0;
	if (!S_ISREG(st.st_mode) || (may < 0 && is_denied(errno))) {
		skip_entry(c);
		return 0;
	}
	if (may < 0)
		return fail(c, errno, "check the access of the workspace's owner to");
	int linked = copy_link_to(c, to_dir, name, &st);
	if (linked < 0)
		return fail(c, errno, "link");
	if (!linked) {
		cleanup_fd int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (to < 0)
			return fail(c, errno, "make the copy of");
		if (copy_data(c, from, to, st.st_size) < 0)
			return -1;
		if (give_away(c, to) < 0 || fchmod(to, st.st_mode & MODE) < 0 ||
		    futimens(to, (struct timespec[]){ st.st_atim, st.st_mtim }) < 0)
			return fail(c, errno, "copy");
	}
	c->done->files++;
	return list_entry(c, 'f', &st);
}

static int copy_symlink(struct copy *c, int from_dir, int to_dir, const char *name, const struct stat *st)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(from_dir, name, text, sizeof text - 1);
	if (n < 0)
		return errno == EINVAL || errno == ENOENT ? 0 : fail(c, errno, "read the symlink");
	text[n] = '\0';
	if (symlinkat(text, to_dir, name) < 0 ||
	    (c->job->give && fchownat(to_dir, name, c->job->uid, c->job->gid, AT_SYMLINK_NOFOLLOW) < 0) ||
	    utimensat(to_dir, name, (struct timespec[]){ st->st_atim, st->st_mtim }, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(c, errno, "copy the symlink");
	c->done->files++;
	return list_entry(c, 'l', st);
}

static int copy_entries(struct copy *c, int from, int to, int level);

static int copy_folder(struct copy *c, int from_dir, int to_dir, const char *name, int level)
{
	struct stat st;
	if (level == LEVELS_MAX)
		return refuse(c, "its folders are nested too deep");
	cleanup_fd int from = aj_beneath_open_here(from_dir, name, O_RDONLY | O_DIRECTORY);
	if (from < 0 && (errno == EACCES || errno == ENOENT || errno == ELOOP || errno == ENOTDIR || errno == EXDEV)) {
		if (errno != ENOENT)
			skip_entry(c);
		return 0;
	}
	if (from < 0 || fstat(from, &st) < 0)
		return fail(c, errno, "open the folder");
	if (owner_may(c, from, R_OK | X_OK) < 0) {
		if (!is_denied(errno))
			return fail(c, errno, "check the access of the workspace's owner to");
		skip_entry(c);
		return 0;
	}
	if (mkdirat(to_dir, name, 0700) < 0)
		return fail(c, errno, "copy the folder");
	cleanup_fd int to = aj_beneath_open_here(to_dir, name, O_RDONLY | O_DIRECTORY);
	if (to < 0)
		return fail(c, errno, "open the copy of the folder");
	c->done->files++;
	size_t bytes = c->path_bytes;
	if (list_entry(c, 'd', &st) < 0 || copy_entries(c, from, to, level + 1) < 0)
		return -1;
	c->path[c->path_bytes = bytes] = '\0';
	if (give_away(c, to) < 0 || fchmod(to, st.st_mode & MODE) < 0 ||
	    futimens(to, (struct timespec[]){ st.st_atim, st.st_mtim }) < 0)
		return fail(c, errno, "copy the mode of the folder");
	return 0;
}

static int copy_entry(struct copy *c, int from, int to, const char *name, int level)
{
	struct stat st;
	if (keep_limits(c) < 0)
		return -1;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return errno == ENOENT ? 0 : fail(c, errno, "examine");
	if (st.st_dev == c->dev && S_ISREG(st.st_mode))
		return copy_file(c, from, to, name);
	if (st.st_dev == c->dev && S_ISDIR(st.st_mode))
		return copy_folder(c, from, to, name, level);
	if (S_ISLNK(st.st_mode))
		return copy_symlink(c, from, to, name, &st);
	skip_entry(c);
	return 0;
}

static int copy_entries(struct copy *c, int from, int to, int level)
{
	int r = 0;
	size_t bytes = c->path_bytes;
	cleanup_listing struct aj_listing entries = aj_beneath_list(from, ".");
	for (const struct dirent *e; r == 0 && (e = aj_listing_next(&entries));) {
		int n = snprintf(c->path + bytes, sizeof c->path - bytes, "%s%s", bytes ? "/" : "", e->d_name);
		if ((size_t)n >= sizeof c->path - bytes) {
			c->path[bytes] = '\0';
			r = refuse(c, "a path in it is too long");
			break;
		}
		c->path_bytes = bytes + (size_t)n;
		r = copy_entry(c, from, to, e->d_name, level);
	}
	if (r == 0)
		c->path[c->path_bytes = bytes] = '\0';
	return r == 0 && entries.error ? fail(c, entries.error, "list the folder") : r;
}

static void keep_node(void *node)
{
	(void)node; /* in the arena */
}

int aj_copy_workspace(const struct aj_copy_job *job, struct aj_arena *arena, struct aj_copied_tree *ret, struct aj_error *err)
{
	struct copy *c = calloc(1, sizeof *c);
	struct aj_groups groups = { 0 };
	struct stat st;
	if (!c)
		abort();
	*ret = (struct aj_copied_tree){ 0 };
	c->job = job;
	c->arena = arena;
	c->done = ret;
	c->err = err;
	c->files_max = job->files_max ? job->files_max : FILES_MAX;
	c->bytes_max = job->bytes_max ? job->bytes_max : BYTES_MAX;
	c->deadline_us = aj_now_us() + aj_us_of_ms(job->time_max_ms ? job->time_max_ms : TIME_MAX_MS);
	c->reported_us = aj_now_us() + PROGRESS_US / 2;
	if (fstat(job->from, &st) < 0) {
		fail(c, errno, "examine");
	} else {
		c->dev = st.st_dev;
		c->owner = st.st_uid;
		if (job->give && aj_groups_drop(&groups) < 0)
			fail(c, errno, "drop the supplementary groups before the copy, at");
		if (job->give)
			setfsgid(st.st_gid);
		if (!err->exit_code && copy_entries(c, job->from, job->to, 0) == 0 && flush_list(c, 0) == 0 &&
		    keep_limits(c) == 0 && (give_away(c, job->to) < 0 || fchmod(job->to, st.st_mode & MODE) < 0))
			fail(c, errno, "copy the mode of");
		if (job->give)
			setfsgid(getegid());
		if (aj_groups_restore(&groups) < 0)
			fail(c, errno, "restore the supplementary groups after the copy, at");
	}
	tdestroy(c->links, keep_node);
	aj_buffer_free(&c->list);
	free(c);
	return err->exit_code ? -1 : 0;
}
