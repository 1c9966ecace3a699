/* Reads the files of a main repository's view that decide about its parts, and the host's files that they are compared with.
 * It trusts none of them: content that is not in git's plain form is distinguished, and every size is bounded. */
#include "workspace/changes/main_content.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree/content.h"
#include "base/tree/node.h"
#include "workspace/changes/main_rules.h"

enum { NAME_MAX_BYTES = 32, HEAD_BYTES = 8, FAN = 256, FAN_BYTES = 4 * FAN };

static bool read_at(int fd, void *out, size_t bytes, uint64_t at)
{
	return pread(fd, out, bytes, (off_t)at) == (ssize_t)bytes;
}

static uint32_t number_of(const unsigned char *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* The names are sorted, and the table before them says how many begin with at most each byte. */
static bool index_has(int fd, const unsigned char *name, size_t bytes)
{
	static const unsigned char head[HEAD_BYTES] = { 0xff, 't', 'O', 'c', 0, 0, 0, 2 };
	unsigned char fan[FAN_BYTES], found[NAME_MAX_BYTES], begin[HEAD_BYTES];
	if (!read_at(fd, begin, sizeof begin, 0) || memcmp(begin, head, sizeof head) != 0 || !read_at(fd, fan, sizeof fan, HEAD_BYTES))
		return false;
	uint64_t low = name[0] ? number_of(fan + 4 * (size_t)(name[0] - 1)) : 0, high = number_of(fan + 4 * (size_t)name[0]);
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (!read_at(fd, found, bytes, HEAD_BYTES + FAN_BYTES + middle * bytes))
			return false;
		int order = memcmp(name, found, bytes);
		if (order == 0)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* A file of a tree that counts: each of the host's, and of the view those that the run has made. */
static bool counts(const struct aj_main *m, bool view, const char *path)
{
	struct aj_base_entry copied;
	return !view || !m->s->record.copy || !aj_base_find(&m->s->repository_base, path, &copied);
}

static bool packs_have(const struct aj_main *m, bool view, const unsigned char *name, size_t bytes)
{
	struct aj_entries names = { 0 };
	struct stat st;
	bool force = view && !m->s->running, found = false;
	cleanup_fd int place = aj_node_place(view ? m->s->repository_view : m->s->repository, "objects", force);
	cleanup_fd int packs = place < 0 ? -1 : aj_node_open_folder(place, "pack", force);
	if (packs < 0 || aj_entries_read(packs, &names) < 0)
		return false;
	for (size_t i = 0; i < names.count && !found; i++) {
		char path[PATH_MAX];
		const char *end = strrchr(names.items[i], '.');
		if (!end || strcmp(end, ".idx") != 0 || snprintf(path, sizeof path, "objects/pack/%s", names.items[i]) >= PATH_MAX)
			continue;
		cleanup_fd int fd = counts(m, view, path) ? aj_node_open_file(packs, names.items[i], force, &st) : -1;
		found = fd >= 0 && index_has(fd, name, bytes);
	}
	aj_entries_free(&names);
	return found;
}

static bool has_file(const struct aj_main *m, bool view, const char *path)
{
	struct stat st;
	cleanup_fd int place = aj_node_place(view ? m->s->repository_view : m->s->repository, path, view && !m->s->running);
	return place >= 0 && fstat(place, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && counts(m, view, path);
}

static unsigned digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

static bool has_object(const struct aj_main *m, const char *hex, bool added)
{
	char path[2 * NAME_MAX_BYTES + 16];
	unsigned char name[NAME_MAX_BYTES];
	size_t bytes = strlen(hex) / 2;
	if (bytes > sizeof name || bytes < 2)
		return false;
	for (size_t i = 0; i < bytes; i++)
		name[i] = (unsigned char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	snprintf(path, sizeof path, "objects/%.2s/%s", hex, hex + 2);
	for (int view = 0; view <= added; view++)
		if (has_file(m, view, path) || packs_have(m, view, name, bytes))
			return true;
	return aj_beneath_has(m->s->repository, "objects/info/alternates");
}

enum { REF_BYTES = 1024, PACKED_BYTES = 64 << 20, WORKTREES_MAX = 4096 };

static const char to_ref[] = "ref: ";

/* A regular file of a tree as text, without its newline at the end; NULL: none, too large, or with a NUL in it. */
static char *read_text(struct aj_arena *arena, int top, const char *path, size_t most, bool force)
{
	struct stat st;
	cleanup_fd int place = top < 0 ? -1 : aj_node_place(top, path, force);
	cleanup_fd int fd = place < 0 ? -1 : aj_node_open_place(place, force, &st);
	if (fd < 0 || st.st_size < 0 || (uint64_t)st.st_size > most)
		return NULL;
	size_t bytes = (size_t)st.st_size;
	char *text = aj_alloc(arena, bytes + 1);
	if (aj_read_all(fd, text, bytes) < 0 || memchr(text, '\0', bytes))
		return NULL;
	text[bytes] = '\0';
	if (bytes && text[bytes - 1] == '\n')
		text[bytes - 1] = '\0';
	return text;
}

/* The branch of a HEAD; NULL: it names an object, or cannot be read. */
static const char *branch_of(struct aj_arena *arena, int repository, const char *path)
{
	const char *text = read_text(arena, repository, path, REF_BYTES, false);
	return text && strncmp(text, to_ref, sizeof to_ref - 1) == 0 ? text + sizeof to_ref - 1 : NULL;
}

/* The branches that a working tree of the host has: that of its HEAD, and one that it rebases, whose place its HEAD has left. `folder`: of the
 * tree's state. A HEAD that is there and cannot be read, as a link, could name any branch. */
static void add_taken(struct aj_main *m, const char *folder, const char *own)
{
	static const char *const rebased[] = { "rebase-merge", "rebase-apply" };
	struct stat st;
	int repository = m->s->repository;
	const char *path = aj_printf(&m->arena, "%sHEAD", folder), *head = read_text(&m->arena, repository, path, REF_BYTES, false);
	const char *branch = branch_of(&m->arena, repository, path);
	m->taken_unknown |= !head && fstatat(repository, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (branch && !(own && strcmp(branch, own) == 0))
		*AJ_PUSH(&m->arena, &m->taken) = branch;
	for (size_t i = 0; i < sizeof rebased / sizeof *rebased; i++) {
		branch = read_text(&m->arena, repository, aj_printf(&m->arena, "%s%s/head-name", folder, rebased[i]), REF_BYTES, false);
		if (branch && aj_path_below(branch, "refs"))
			*AJ_PUSH(&m->arena, &m->taken) = branch;
	}
}

/* A bare repository's HEAD names a branch, too: that of the run's own working tree is never another one's. */
static void read_taken(struct aj_main *m)
{
	struct aj_entries names = { 0 };
	int repository = m->s->repository;
	const char *own = branch_of(&m->arena, repository, aj_printf(&m->arena, "worktrees/%s/HEAD", m->s->record.worktree));
	cleanup_fd int all = aj_node_open_folder(repository, "worktrees", false);
	add_taken(m, "", own);
	if (all < 0 || aj_entries_read(all, &names) < 0 || names.count > WORKTREES_MAX)
		m->taken_unknown = true;
	for (size_t i = 0; i < names.count && !m->taken_unknown; i++)
		if (strcmp(names.items[i], m->s->record.worktree) != 0)
			add_taken(m, aj_printf(&m->arena, "worktrees/%s/", names.items[i]), own);
	aj_entries_free(&names);
}

/* git makes one without references where it deletes a reference that is not packed. */
static bool is_empty(const char *text)
{
	while (text && *text == '#')
		text = strchr(text, '\n') ? strchr(text, '\n') + 1 : "";
	return text && !*text;
}

/* The object, or the other reference, that the host's reference names. */
static const char *host_value(struct aj_main *m, const char *ref)
{
	const char *loose = read_text(&m->arena, m->s->repository, ref, REF_BYTES, false);
	return loose ? loose : aj_packed_id(&m->host_packed, ref);
}

static bool same_value(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* A loose reference of the host's counts before the packed one: its own change, a deletion, is judged by its name. */
static const char *judge_packed(struct aj_main *m)
{
	static const char of_other[] = "it moves or deletes the branch of another working tree";
	const aj_packed_refs *refs = &m->packed;
	struct aj_change c = { .kind = AJ_CHANGE_ADDED, .is.st_mode = S_IFREG | 0644 };
	if (m->taken_unknown)
		return of_other;
	for (size_t i = 0; i < m->taken.count; i++)
		if (!aj_main_ref_valid(m->taken.items[i]) ||
		    (!aj_beneath_has(m->s->repository, m->taken.items[i]) &&
		     !same_value(aj_packed_id(&m->host_packed, m->taken.items[i]), aj_packed_id(refs, m->taken.items[i]))))
			return of_other;
	for (size_t i = 0; i < refs->count; i++) {
		c.path = refs->items[i].name;
		if (!same_value(aj_packed_id(&m->host_packed, c.path), refs->items[i].id) &&
		    aj_main_rule(c.path, m->s->record.worktree, &c).verdict != AJ_MAIN_PART &&
		    !(aj_path_below(c.path, "refs") && same_value(host_value(m, c.path), refs->items[i].id)))
			return "it has a reference that is applied by its own name alone, or never";
	}
	return NULL;
}

static void read_packed(struct aj_main *m)
{
	static const char name[] = "packed-refs";
	struct stat is, was;
	bool force = !m->s->running;
	int view = m->s->repository_view, host = m->s->repository;
	char *text = read_text(&m->arena, host, name, PACKED_BYTES, false);
	if (text)
		aj_packed_read(&m->arena, text, &m->host_packed);
	if (fstatat(view, name, &is, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(is.st_mode))
		return;
	bool absent = fstatat(host, name, &was, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
	if (!absent && S_ISREG(was.st_mode) && aj_node_same(view, force, host, name) == 1)
		return;
	text = read_text(&m->arena, view, name, PACKED_BYTES, force);
	m->packs_none = absent && is_empty(text);
	m->packed_changed = true;
	m->packed_bad = text ? aj_packed_read(&m->arena, text, &m->packed) : "it is too large, or no text";
	if (!m->packed_bad)
		m->packed_bad = judge_packed(m);
}

void aj_main_read(struct aj_main *ret, const struct aj_change_state *state)
{
	*ret = (struct aj_main){ .s = state };
	read_taken(ret);
	read_packed(ret);
	ret->stash_dropped = !aj_main_log_extends(ret, "logs/refs/stash");
}

void aj_main_free(struct aj_main *whole)
{
	aj_arena_free(&whole->arena);
}

bool aj_main_packs(const struct aj_main *m, const char *ref)
{
	return m->packed_changed && !m->packed_bad && aj_packed_id(&m->packed, ref);
}

bool aj_main_crosses(const struct aj_main *m, const char *ref)
{
	return aj_packed_crosses(m->packed_changed ? &m->packed : &m->host_packed, ref);
}

bool aj_main_shadows(const struct aj_main *m, const char *ref)
{
	static const char *const order[] = { "refs/tags", "refs/heads", "refs/remotes" }; /* gitrevisions(7) */
	char later[PATH_MAX + 16];
	const char *rest = NULL;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		if (rest) {
			snprintf(later, sizeof later, "%s%s", order[i], rest);
			struct stat st;
			cleanup_fd int place = aj_node_place(m->s->repository, later, false);
			if ((place >= 0 && fstat(place, &st) == 0 && S_ISREG(st.st_mode)) || aj_packed_id(&m->host_packed, later))
				return true;
		} else if (aj_path_below(ref, order[i])) {
			rest = aj_path_rest(ref, order[i]);
		}
	}
	return false;
}

bool aj_main_taken(const struct aj_main *m, const char *ref)
{
	bool found = m->taken_unknown && aj_path_below(ref, "refs/heads");
	for (size_t i = 0; i < m->taken.count && !found; i++)
		found = strcmp(m->taken.items[i], ref) == 0;
	return found;
}

bool aj_main_ref_plain(const struct aj_main *m, const struct aj_change *c, const char *ref, bool added, char *ret_branch)
{
	struct aj_arena arena = { 0 };
	struct aj_change_side side = aj_change_side(m->s, c->path);
	const char *text = read_text(&arena, side.view, side.path, REF_BYTES, !m->s->running), *name = ref ? strrchr(ref, '/') : NULL;
	bool plain = false;
	if (ret_branch)
		*ret_branch = '\0';
	if (text) {
		size_t bytes = strlen(text);
		bool symbolic = strncmp(text, to_ref, sizeof to_ref - 1) == 0;
		plain = !symbolic && (bytes == 40 || bytes == 64) && strspn(text, "0123456789abcdef") == bytes &&
		        has_object(m, text, added);
		if (symbolic && ret_branch && aj_path_below(text + sizeof to_ref - 1, "refs/heads") &&
		    aj_main_ref_valid(text + sizeof to_ref - 1)) {
			plain = true;
			snprintf(ret_branch, PATH_MAX, "%s", text + sizeof to_ref - 1);
		}
		/* git clone and git fetch make refs/remotes/origin/HEAD so. */
		if (symbolic && ref && name && strcmp(name, "/HEAD") == 0 && aj_path_below(ref, "refs/remotes"))
			plain = aj_path_below(text + sizeof to_ref - 1, "refs/remotes") && aj_main_ref_valid(text + sizeof to_ref - 1);
	}
	aj_arena_free(&arena);
	return plain;
}

/* Below the repository. */
bool aj_main_log_extends(const struct aj_main *m, const char *path)
{
	struct stat is, was;
	bool force = !m->s->running;
	cleanup_fd int there = aj_node_place(m->s->repository, path, false);
	cleanup_fd int host = there < 0 ? -1 : aj_node_open_place(there, false, &was);
	cleanup_fd int place = host < 0 ? -1 : aj_node_place(m->s->repository_view, path, force);
	if (host < 0)
		return true;
	if (place < 0) /* of a reference that has changed: its folder of logs was removed */
		return false;
	cleanup_fd int fd = aj_node_open_place(place, force, &is);
	return fd >= 0 && is.st_size >= was.st_size && aj_content_same(fd, host, was.st_size) == 1;
}
