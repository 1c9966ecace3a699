/* Makes the files of an environment read-only, gives equal files of several environments one inode, and writes the manifest.
 * A file's name in the store is its hash, so that a name says what is in it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/sha256.h"
#include "cli/env/envcmd.h"
#include "policy/host/python_env.h"

struct seal {
	FILE *manifest;
	int store; /* -1: none */
	uint64_t bytes;
	struct aj_error *err;
	char path[PATH_MAX]; /* of the folder that is walked, relative to site */
};

const char *aj_env_store(struct aj_arena *arena)
{
	const char *envs = aj_python_envs(arena);
	return envs ? aj_printf(arena, "%s/.store", envs) : NULL;
}

/* A failure costs space alone: each step leaves the file complete. */
static void share(const struct seal *s, int dir, const char *name, const struct stat *st, const char *hex)
{
	char folder[3] = { hex[0], hex[1], '\0' }, kept[AJ_SHA256_HEX + 8], temporary[] = ".shared";
	struct stat there;
	if (s->store < 0)
		return;
	snprintf(kept, sizeof kept, "%s/%s%s", folder, hex + 2, st->st_mode & 0100 ? "x" : "");
	mkdirat(s->store, folder, 0700);
	if (linkat(dir, name, s->store, kept, 0) == 0 || errno != EEXIST)
		return;
	if (fstatat(s->store, kept, &there, AT_SYMLINK_NOFOLLOW) < 0 || there.st_size != st->st_size ||
	    there.st_ino == st->st_ino)
		return;
	unlinkat(dir, temporary, 0);
	if (linkat(s->store, kept, dir, temporary, 0) == 0 && renameat(dir, temporary, dir, name) < 0)
		unlinkat(dir, temporary, 0);
}

static int seal_file(struct seal *s, int dir, const char *name)
{
	struct stat st;
	char hex[AJ_SHA256_HEX];
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || strchr(name, '\n'))
		return aj_fail(s->err, AJ_EXIT_SETUP, "env", fd < 0 ? errno : 0,
		               "`%.200s/%.100s` of the packages is no regular file with a plain name", s->path, name);
	/* No setuid bit; rights to execute have no use, but a library is mapped with them or without them. */
	mode_t mode = st.st_mode & 0100 ? 0555 : 0444;
	if (fchmod(fd, mode) < 0 || aj_sha256_fd(fd, hex) < 0)
		return aj_fail(s->err, AJ_EXIT_SETUP, "env", errno, "`%.200s/%.100s`", s->path, name);
	fprintf(s->manifest, "%s %lld %04o %s/%s\n", hex, (long long)st.st_size, (unsigned)mode, s->path, name);
	s->bytes += (uint64_t)st.st_size;
	share(s, dir, name, &st, hex);
	return 0;
}

static int seal_folder(struct seal *s, int folder)
{
	size_t used = strlen(s->path);
	AJ_LIST(const char *) names = { 0 };
	struct aj_arena arena = { 0 };
	int r = 0;
	{
		cleanup_listing struct aj_listing entries = aj_listing_take(fcntl(folder, F_DUPFD_CLOEXEC, 10));
		for (const struct dirent *e; (e = aj_listing_next(&entries));)
			*AJ_PUSH(&arena, &names) = aj_strdup(&arena, e->d_name);
		if (entries.error)
			r = aj_fail(s->err, AJ_EXIT_SETUP, "env", entries.error, "list `%.200s` of the packages", s->path);
	}
	for (size_t i = 0; r == 0 && i < names.count; i++) {
		struct stat st;
		cleanup_fd int below = -1;
		if (aj_env_interrupted())
			r = aj_fail(s->err, AJ_EXIT_SETUP, "env", 0, "interrupted");
		else if (fstatat(folder, names.items[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
			if (snprintf(s->path + used, sizeof s->path - used, "/%s", names.items[i]) >=
			    (int)(sizeof s->path - used))
				r = aj_fail(s->err, AJ_EXIT_SETUP, "env", 0, "a path of the packages is too long");
			else if ((below = openat(folder, names.items[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
			         fchmod(below, 0755) < 0)
				r = aj_fail(s->err, AJ_EXIT_SETUP, "env", errno, "open `%.300s` of the packages", s->path);
			else
				r = seal_folder(s, below);
			s->path[used] = '\0';
		} else {
			r = seal_file(s, folder, names.items[i]);
		}
	}
	aj_arena_free(&arena);
	return r;
}

int aj_env_seal(const char *folder, const char *store, uint64_t *ret_bytes, struct aj_arena *arena, struct aj_error *err)
{
	struct seal s = { .err = err };
	cleanup_fd int site = open(aj_printf(arena, "%s/site", folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s.manifest = fopen(aj_printf(arena, "%s/manifest", folder), "we");
	if (site < 0 || !s.manifest || fchmod(site, 0755) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "env", errno, "write `%.300s/manifest`", folder);
		if (s.manifest)
			fclose(s.manifest);
		return -1;
	}
	mkdir(store, 0700);
	cleanup_fd int kept = open(store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	s.store = kept;
	fputs("agentjail-rootfs 1\n\n", s.manifest);
	int r = seal_folder(&s, site);
	bool failed = ferror(s.manifest);
	if ((fclose(s.manifest) != 0 || failed) && r == 0)
		r = aj_fail(err, AJ_EXIT_SETUP, "env", errno, "write `%.300s/manifest`", folder);
	*ret_bytes = s.bytes;
	return r;
}

void aj_env_sweep_store(const char *store)
{
	cleanup_listing struct aj_listing folders = aj_listing_open(store);
	for (const struct dirent *f; folders.dir && (f = aj_listing_next(&folders));) {
		int below = openat(dirfd(folders.dir), f->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		cleanup_listing struct aj_listing files = aj_listing_take(below);
		for (const struct dirent *e; files.dir && (e = aj_listing_next(&files));) {
			struct stat st;
			if (fstatat(dirfd(files.dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 1)
				unlinkat(dirfd(files.dir), e->d_name, 0);
		}
	}
}
