/* Searches the host's workspace once for repositories and for links with protected names, and asks workspace/git/ which places a
 * repository names.
 * It reads no change, and enters neither links nor other file systems. */
#include "workspace/changes/approval_reached.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/protected_places.h"
#include "workspace/changes/approval_spelling.h"
#include "workspace/changes/change.h"
#include "workspace/git/named.h"

enum { PER_LOOK = 256 };

struct search {
	struct aj_git_named *n;
	const struct aj_change_record *record;
	int64_t deadline_us;
	size_t entries;
	bool late;
	size_t bytes; /* of path */
	char path[PATH_MAX];
};

/* --- the search --- */

enum { HAS_HEAD = 1, HAS_OTHER = 2, HAS_DOT_GIT = 4 };

static unsigned mark_of(const char *name)
{
	return strcmp(name, ".git") == 0                                   ? HAS_DOT_GIT
	     : strcmp(name, "HEAD") == 0                                   ? HAS_HEAD
	     : strcmp(name, "refs") == 0 || strcmp(name, "commondir") == 0 ? HAS_OTHER
	                                                                   : 0;
}

static bool has_protected_name(const struct search *s, const char *name)
{
	static const char *const defaults[] = { AJ_PROTECT_DEFAULT };
	return aj_protect_begins(s->record->protect, s->record->protect_count, name) || aj_protect_begins(defaults, 1, name);
}

static mode_t type_of(int dir, const struct dirent *e)
{
	struct stat st;
	if (e->d_type != DT_UNKNOWN)
		return DTTOIF(e->d_type);
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode & S_IFMT : 0;
}

static void look_into(struct search *s, int dir, unsigned depth);

static void look_below(struct search *s, int dir, const char *name, unsigned depth)
{
	size_t before = s->bytes, bytes = strlen(name);
	if (s->bytes + bytes + 2 > sizeof s->path || depth >= AJ_CHANGES_DEPTH)
		return;
	cleanup_fd int next = aj_beneath_open_here(dir, name, O_RDONLY | O_DIRECTORY);
	if (next < 0)
		return;
	s->path[s->bytes] = '/';
	memcpy(s->path + s->bytes + 1, name, bytes + 1);
	s->bytes += bytes + 1;
	look_into(s, next, depth + 1);
	s->bytes = before;
	s->path[before] = '\0';
}

/* The entries of the folder at s->path; its subfolders after it. */
static void look_into(struct search *s, int dir, unsigned depth)
{
	struct aj_buffer folders = { 0 };
	unsigned found = 0;
	cleanup_listing struct aj_listing entries = aj_beneath_list(dir, ".");
	for (const struct dirent *e; !s->late && (e = aj_listing_next(&entries));) {
		mode_t type = type_of(dir, e);
		unsigned mark = mark_of(e->d_name);
		found |= mark;
		s->late = ++s->entries % PER_LOOK == 0 && aj_now_us() > s->deadline_us;
		if (type == S_IFDIR && mark != HAS_DOT_GIT)
			aj_buffer_add(&folders, e->d_name, strlen(e->d_name) + 1);
		else if (type == S_IFLNK && has_protected_name(s, e->d_name))
			aj_git_named_place(s->n, aj_printf(s->n->arena, "%s/%s", s->path, e->d_name));
	}
	s->n->cut |= entries.dir && entries.error;
	if (found & HAS_DOT_GIT)
		aj_git_named_add(s->n, s->path, ".git");
	if ((found & HAS_HEAD) && (found & HAS_OTHER))
		aj_git_named_add(s->n, s->path, ".");
	for (size_t at = 0; at < folders.bytes && !s->late; at += strlen(folders.data + at) + 1)
		look_below(s, dir, folders.data + at, depth);
	aj_buffer_free(&folders);
}

/* The repository that the workspace is a part of. */
static void look_above(struct search *s)
{
	struct stat st;
	const char *folder = s->record->workspace;
	do {
		folder = aj_path_folder(folder, s->n->arena);
		if (lstat(aj_printf(s->n->arena, "%s/.git", folder), &st) == 0) {
			aj_git_named_add(s->n, folder, ".git");
			return;
		}
	} while (folder[1]);
}

static void make_plain(const char **paths, size_t count, struct aj_arena *arena)
{
	for (size_t i = 0; i < count; i++)
		paths[i] = aj_spelling_plain(paths[i], aj_alloc(arena, strlen(paths[i]) + 1));
}

bool aj_change_reach(struct aj_change_state *state, unsigned budget_ms)
{
	struct search *s = calloc(1, sizeof *s);
	struct aj_git_named *n = aj_alloc(&state->arena, sizeof *n);
	if (!s)
		abort();
	*n = (struct aj_git_named){ .arena = &state->arena, .workspace = state->record.workspace };
	*s = (struct search){ .n = n, .record = &state->record, .deadline_us = aj_in_ms(budget_ms) };
	s->bytes = strlen(n->workspace);
	memcpy(s->path, n->workspace, s->bytes + 1);
	aj_git_named_add(n, n->workspace, NULL);
	look_above(s);
	look_into(s, state->workspace, 0);
	make_plain(n->places.items, n->places.count, n->arena);
	make_plain(n->anywhere.items, n->anywhere.count, n->arena);
	state->reached = n;
	bool whole = !s->late && !n->cut;
	n->all |= !whole;
	free(s);
	return whole;
}

/* --- the answer --- */

/* The bytes of `path` that `folder` takes of it, in any case of letters; 0: it is elsewhere. */
static size_t within_place(const char *path, const char *folder)
{
	size_t bytes = strlen(folder);
	return strncasecmp(path, folder, bytes) == 0 && (path[bytes] == '\0' || path[bytes] == '/') ? bytes : 0;
}

size_t aj_change_reached(const struct aj_change_state *state, const char *path)
{
	const struct aj_git_named *n = state->reached;
	size_t bytes = n && n->all ? strlen(path) : 0;
	for (size_t i = 0; n && i < n->places.count && !bytes; i++)
		bytes = within_place(path, n->places.items[i]);
	for (size_t i = 0; n && i < n->anywhere.count && !bytes; i++)
		for (const char *at = path; at && !bytes; at = strchr(at, '/'), at += at != NULL)
			if ((bytes = within_place(at, n->anywhere.items[i])) > 0)
				bytes += (size_t)(at - path);
	return bytes;
}

bool aj_change_reached_below(const struct aj_change_state *state, const char *path)
{
	const struct aj_git_named *n = state->reached;
	bool found = false;
	for (size_t i = 0; n && i < n->places.count && !found; i++)
		found = within_place(n->places.items[i], path) > 0;
	for (size_t i = 0; n && i < n->anywhere.count && !found; i++)
		for (const char *at = path; at && !found; at = strchr(at, '/'), at += at != NULL)
			found = within_place(n->anywhere.items[i], at) > 0;
	return found;
}
