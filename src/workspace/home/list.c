/* Lists the homes that are kept, and removes one with all its contents.
 * It follows no symlink, and opens no file of a home. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/json/json.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/tree/remove.h"
#include "workspace/home/folders.h"
#include "workspace/home/kept.h"

enum { RECORD_BYTES = 16384 };

static const char *member(const json_t *doc, const char *name, struct aj_arena *arena)
{
	const char *text = json_string_value(json_object_get(doc, name));
	return text ? aj_strdup(arena, text) : "";
}

static void read_record(struct aj_kept *kept, int folder, struct aj_arena *arena)
{
	char text[RECORD_BYTES];
	struct stat st;
	json_t *doc = aj_read_text_at(folder, AJ_KEPT_RECORD, text, sizeof text) > 0 ? json_loads(text, 0, NULL) : NULL;
	kept->policy = member(doc, "policy", arena);
	kept->workspace = member(doc, "workspace", arena);
	json_decref(doc);
	cleanup_fd int lock = openat(folder, AJ_KEPT_LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (lock < 0 || fstat(lock, &st) < 0)
		return;
	kept->used_s = st.st_mtim.tv_sec;
	kept->in_use = aj_lock_is_held(lock);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct aj_kept *)a)->name, ((const struct aj_kept *)b)->name);
}

/* -1 without err: no home was ever kept. */
static int open_root(const char **ret, struct aj_arena *arena, struct aj_error *err)
{
	*ret = aj_kept_root(arena, err);
	int fd = *ret ? aj_beneath_open(AT_FDCWD, *ret, O_RDONLY | O_DIRECTORY) : -1;
	if (*ret && fd < 0 && errno != ENOENT)
		aj_fail(err, AJ_EXIT_SETUP, "home", errno, "open `%s`", *ret);
	return fd;
}

int aj_kept_list_all(aj_kept_list *ret, struct aj_arena *arena, struct aj_error *err)
{
	const char *root;
	cleanup_fd int dir = open_root(&root, arena, err);
	cleanup_listing struct aj_listing entries = dir < 0 ? (struct aj_listing){ 0 } : aj_beneath_list(dir, ".");
	*ret = (aj_kept_list){ 0 };
	for (const struct dirent *e; (e = aj_listing_next(&entries));) {
		cleanup_fd int folder = aj_beneath_open(dir, e->d_name, O_PATH | O_DIRECTORY);
		if (folder < 0)
			continue;
		struct aj_kept *kept = AJ_PUSH(arena, ret);
		*kept = (struct aj_kept){ .name = aj_strdup(arena, e->d_name),
			                  .path = aj_printf(arena, "%s/%s", root, e->d_name) };
		read_record(kept, folder, arena);
	}
	if (entries.error)
		aj_fail(err, AJ_EXIT_SETUP, "home", entries.error, "list `%s`", root);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof *ret->items, by_name);
	return err->exit_code ? -1 : 0;
}

int aj_kept_remove(const char *name, struct aj_arena *arena, struct aj_error *err)
{
	const char *root;
	cleanup_fd int dir = open_root(&root, arena, err);
	if (err->exit_code)
		return -1;
	bool plain = dir >= 0 && *name && !strchr(name, '/') && !aj_path_is_dots(name);
	cleanup_fd int folder = plain ? fcntl(dir, F_DUPFD_CLOEXEC, 0) : -1;
	if (folder < 0 || aj_kept_go_down(&folder, name, false, err) < 0) {
		aj_fail(err, AJ_EXIT_USAGE, "home", 0, "no home of the name `%s` is kept", name);
		aj_advise(err, "`agentjail homes list` lists those that are");
		return -1;
	}
	cleanup_fd int lock = openat(folder, AJ_KEPT_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0 || aj_lock_take(lock, true) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "home", lock < 0 ? errno : 0, "a run has the home `%s`", name);
		aj_advise(err, "end that run first");
		return -1;
	}
	if (aj_tree_remove(dir, name) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "home", errno, "remove `%s/%s`", root, name);
	return 0;
}
