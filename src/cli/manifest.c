/* Compares a tree with its manifest, which lists each file with hash, size and mode. */
#include "cli/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/listing.h"
#include "base/path.h"
#include "base/sha256.h"
#include "cli/terminal/findings.h"

struct check {
	int tree;
	unsigned long count, wrong;
	struct aj_arena arena;
	void *listed; /* the manifest's paths, for tsearch() */
};

static void report_difference(struct check *c, const char *path, const char *why)
{
	printf("%s: %s\n", aj_line(&c->arena, path), why);
	c->wrong++;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void keep_nothing(void *path)
{
	(void)path; /* the arena's */
}

static void check_link(struct check *c, char *path)
{
	char *arrow = strstr(path, " -> "), target[4096];
	if (!arrow) {
		report_difference(c, path, "malformed manifest line");
		return;
	}
	*arrow = '\0';
	ssize_t n = readlinkat(c->tree, path + 1, target, sizeof target - 1);
	target[n > 0 ? n : 0] = '\0';
	if (n < 0 || strcmp(target, arrow + 4) != 0)
		report_difference(c, path, n < 0 ? "missing, or not a symlink" : "points elsewhere");
}

/* An installer applies its umask: more rights to write do not matter inside the jail, where the tree is read-only, nor fewer
 * rights of others to a jail that runs as the caller. Root's jails run as another user. */
static unsigned ignored_mode(void)
{
	return geteuid() == 0 ? 0022 : 0077;
}

static void check_file(struct check *c, const char *hash, unsigned long long size, unsigned mode, const char *path)
{
	struct stat st;
	char hex[AJ_SHA256_HEX];
	cleanup_fd int fd = openat(c->tree, path + 1, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		report_difference(c, path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		report_difference(c, path, "not a regular file");
	else if ((unsigned long long)st.st_size != size)
		report_difference(c, path, "different size");
	else if (((st.st_mode ^ mode) & 07777 & ~ignored_mode()) != 0)
		report_difference(c, path, "different mode");
	else if (aj_sha256_fd(fd, hex) < 0 || strcmp(hex, hash) != 0)
		report_difference(c, path, "different content");
}

/* Check one manifest line: hash (or `link`), size, mode, path. False: the line is malformed. */
static bool check_line(struct check *c, char *line)
{
	char hash[AJ_SHA256_HEX];
	unsigned long long size;
	unsigned mode;
	int at = 0;
	if (sscanf(line, "%64s %llu %o %n", hash, &size, &mode, &at) != 3 || line[at] != '/' || strstr(line + at, "/../"))
		return false;
	c->count++;
	bool is_link = strcmp(hash, "link") == 0;
	const char *end = is_link ? strstr(line + at, " -> ") : NULL, *path = line + at;
	if (!tsearch(aj_printf(&c->arena, "%.*s", end ? (int)(end - path) : (int)strlen(path), path), &c->listed, compare))
		abort();
	if (is_link)
		check_link(c, line + at);
	else
		check_file(c, hash, size, mode, line + at);
	return true;
}

/* Look for files that the manifest does not list: a snippet sees them too. `path`: of the folder, with room for PATH_MAX
 * bytes. */
static void check_folder(struct check *c, int dir_fd, char *path)
{
	size_t used = strlen(path);
	cleanup_listing struct aj_listing entries = aj_listing_take(dir_fd);
	for (const struct dirent *e; (e = aj_listing_next(&entries));) {
		struct stat st;
		if (snprintf(path + used, PATH_MAX - used, "/%s", e->d_name) >= (int)(PATH_MAX - used))
			report_difference(c, path, "longer than any path of the manifest");
		else if (fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			report_difference(c, path, strerror(errno));
		else if (S_ISDIR(st.st_mode))
			check_folder(c, openat(dir_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), path);
		else if (!tfind(path, &c->listed, compare))
			report_difference(c, path, "not in the manifest");
	}
	path[used] = '\0';
	if (entries.error)
		report_difference(c, path, strerror(entries.error));
}

static void free_check(struct check *c)
{
	tdestroy(c->listed, keep_nothing);
	aj_arena_free(&c->arena);
}

int aj_manifest_verify(const char *rootfs, const char *tree_name, struct aj_error *err)
{
	char path[PATH_MAX + 100];
	__attribute__((cleanup(free_check))) struct check c = { 0 };
	snprintf(path, sizeof path, "%s/%s", rootfs, tree_name);
	cleanup_fd int tree = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tree < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "rootfs", errno, "open `%s`", path);
	c.tree = tree;
	snprintf(path, sizeof path, "%s/manifest", rootfs);
	FILE *manifest = fopen(path, "re");
	if (!manifest)
		return aj_fail(err, AJ_EXIT_SETUP, "rootfs", errno, "open `%s`", path);
	char *line = NULL;
	size_t room = 0, number = 0;
	bool body = false;
	for (ssize_t n; (n = getline(&line, &room, manifest)) > 0;) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		number++;
		if (number == 1 && strcmp(line, "agentjail-rootfs 1") != 0)
			aj_fail(err, AJ_EXIT_SETUP, "rootfs", 0,
			        "`%s` is not a manifest, or of a version that this program does not know", path);
		else if (!body)
			body = line[0] == '\0';
		else if (!check_line(&c, line))
			aj_fail(err, AJ_EXIT_SETUP, "rootfs", 0, "`%s`, line %zu: not a line of a manifest", path, number);
		if (err->exit_code)
			break;
	}
	free(line);
	fclose(manifest);
	if (err->exit_code)
		return -1;
	if (!body)
		return aj_fail(err, AJ_EXIT_SETUP, "rootfs", 0, "`%s` ends too early", path);
	path[0] = '\0';
	check_folder(&c, openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), path);
	if (c.wrong)
		return aj_fail(err, AJ_EXIT_SETUP, "rootfs", 0, "`%s` differs from its manifest: %lu differences", rootfs,
		               c.wrong);
	printf("%s: %lu files as in the manifest\n", rootfs, c.count);
	return 0;
}
