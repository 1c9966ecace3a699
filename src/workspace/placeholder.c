/* Creates and removes placeholders: marked by their mode from creation on, counted by locks on themselves.
 * It removes no file or folder that bears another mark, is not empty, or is not the locked one; and no jail can reach the lock,
 * since the jail sees a read-only blank instead. */
#include "workspace/placeholder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "sandbox/mounts/blanks.h"

/* The mark: the sticky bit, which has no effect on a file, nor on a folder that only its owner may write. */
enum { FOLDER_MODE = 01755, FILE_MODE = 01644, TRIES = 200, PAUSE_US = 1000 };

bool aj_placeholder_marked(const struct stat *st)
{
	return st->st_mode & S_ISVTX;
}

static const char *text_of(const char *blank)
{
	return strcmp(blank, AJ_BLANK_ITSELF) == 0 ? AJ_BLANK_ITSELF_TEXT : "";
}

static bool is_folder(const char *blank)
{
	return strcmp(blank, AJ_BLANK_FOLDER) == 0;
}

/* 1: empty, 0: not empty, -1 with errno. */
static int is_empty(int fd)
{
	cleanup_listing struct aj_listing entries = aj_beneath_list(fd, ".");
	bool found = aj_listing_next(&entries);
	errno = entries.error;
	return entries.error ? -1 : !found;
}

/* The caller's umask may have taken bits of the mode, but never the sticky one. */
static bool is_marked(int fd, const char *blank)
{
	struct stat st;
	char text[8];
	size_t bytes = strlen(text_of(blank));
	if (fstat(fd, &st) < 0 || !aj_placeholder_marked(&st))
		return false;
	if (is_folder(blank))
		return S_ISDIR(st.st_mode) && (st.st_mode & 07777 & ~(mode_t)FOLDER_MODE) == 0;
	if (!S_ISREG(st.st_mode) || (st.st_mode & 07777 & ~(mode_t)FILE_MODE) != 0 || (size_t)st.st_size != bytes)
		return false;
	return pread(fd, text, sizeof text, 0) == (ssize_t)bytes && memcmp(text, text_of(blank), bytes) == 0;
}

static bool is_at(int dir, const char *name, int fd)
{
	struct stat here, there;
	return fstat(fd, &here) == 0 && fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino;
}

/* Root gives the placeholder to the owner of its parent folder: a killed run must leave nothing of root's. */
static void chown_to_parent_owner(int dir, int fd)
{
	struct stat st;
	if (geteuid() == 0 && fstat(dir, &st) == 0 && fchown(fd, st.st_uid, st.st_gid) < 0)
		return; /* a file system without owners, where ownership has no effect */
}

static int make_placeholder(int dir, const char *name, const char *blank)
{
	cleanup_fd int fd = -1;
	if (is_folder(blank)) {
		if (mkdirat(dir, name, FOLDER_MODE) < 0 && errno != EEXIST)
			return -1;
		return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (fd < 0 && errno == EEXIST)
		return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || aj_write_all(fd, text_of(blank), strlen(text_of(blank))) < 0)
		return -1;
	return aj_steal(&fd);
}

int aj_placeholder_take(int dir, const char *name, const char *blank)
{
	for (int i = 0; i < TRIES; i++) {
		cleanup_fd int fd = make_placeholder(dir, name, blank);
		if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) /* a file of another type */
			errno = EEXIST;
		if (fd < 0 && errno != ENOENT)
			return -1;
		/* The remover holds an exclusive lock for a moment; after that the descriptor refers to a removed file and the
		 * next one must be opened. */
		if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && is_at(dir, name, fd)) {
			bool folder = is_folder(blank);
			int empty = folder ? is_empty(fd) : 1;
			if (empty < 0)
				return -1;
			if (is_marked(fd, blank) && empty) {
				chown_to_parent_owner(dir, fd);
				return aj_steal(&fd);
			}
			if (folder || i > TRIES / 10) { /* not a placeholder that is just being written */
				errno = EEXIST;
				return -1;
			}
		}
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_US * 1000L }, NULL);
	}
	errno = EBUSY;
	return -1;
}

/* Check again under a private name: a file that has taken the placeholder's place meanwhile is moved back. */
static void remove_file(int dir, const char *name, const char *blank, int fd)
{
	char aside[64];
	snprintf(aside, sizeof aside, ".agentjail-%d-%lx", getpid(), (unsigned long)aj_now_us());
	if (renameat(dir, name, dir, aside) < 0)
		return;
	/* Unlike rename(), link() overwrites no third file. */
	if ((is_at(dir, aside, fd) && is_marked(fd, blank)) || linkat(dir, aside, dir, name, 0) == 0)
		unlinkat(dir, aside, 0);
}

void aj_placeholder_give(int dir, const char *name, const char *blank, int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_at(dir, name, fd) && is_marked(fd, blank)) {
		if (!is_folder(blank))
			remove_file(dir, name, blank, fd);
		else if (unlinkat(dir, name, AT_REMOVEDIR) < 0 && (errno == ENOTEMPTY || errno == EEXIST))
			fchmod(fd, FOLDER_MODE & 0777); /* a process of the host has begun to use it */
	}
	close(fd);
}
