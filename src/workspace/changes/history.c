/* Fetches the history of a run's repositories into those of the host, and says for each what the two have become.
 *
 * 1. git-upload-pack in a jail lists the run's references (git ls-remote).
 * 2. Those that the host lacks are fetched by their object names into a folder beside the repository's objects; git verifies
 *    each object, and that nothing is missing.
 * 3. The new pack is moved to the others, and one transaction writes refs/agentjail/ID/. */
#include "workspace/changes/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree/node.h"
#include "workspace/changes/history_inner.h"

enum { REFS_MAX = 25000, SUBMODULES_MAX = 1000, DEPTH_MAX = 10, FETCHED_BYTES = 1 << 20 };

/* In the state folder: the git folders whose host's repositories have references of this run. */
#define FETCHED "fetched"

/* --- git --- */

/* The first line of its output; NULL: there is none, or a status other than 0, which is no error. */
#define GIT_LINE(w, ...) \
	aj_git_line(&(w)->git, (const char *const[]){ __VA_ARGS__, NULL }, (w)->arena, NULL, &(struct aj_error){ 0 })

static void take_peer(struct aj_history_work *w)
{
	const char **peer = aj_alloc(w->arena, 7 * sizeof *peer);
	const char *words[] = { "/proc/self/exe", "changes", "upload-pack", w->state->id, "--", w->repo->git };
	memcpy(peer, words, sizeof words);
	w->git.peer = peer;
	w->git.wall_ms = w->state->record.git_ms;
}

/* --- references --- */

static int read_host(struct aj_history_work *w)
{
	struct aj_buffer out = { 0 };
	int r = AJ_GIT(w, NULL, &out, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags",
	               aj_strndup(w->arena, w->prefix, strlen(w->prefix) - 1));
	if (r == 0)
		aj_refs_read(&w->host, w->arena, &out);
	aj_buffer_free(&out);
	w->repo->branch = r == 0 ? GIT_LINE(w, "symbolic-ref", "-q", "HEAD") : NULL;
	w->repo->host_oid = r == 0 ? GIT_LINE(w, "rev-parse", "-q", "--verify", "HEAD^{commit}") : NULL;
	return r == 0 ? 0 : -1;
}

int aj_history_read_run(struct aj_history_work *w)
{
	struct aj_buffer out = { 0 };
	take_peer(w);
	int r = AJ_GIT(w, NULL, &out, "ls-remote", "--symref", AJ_GIT_PEER);
	w->git.peer = NULL;
	if (r == 0)
		aj_refs_read(&w->run, w->arena, &out);
	aj_buffer_free(&out);
	w->repo->left_out = w->run.left_out;
	w->repo->run_branch = w->run.head;
	w->repo->run_oid = aj_refs_find(&w->run, "HEAD");
	w->repo->index_oid = aj_refs_find(&w->run, "refs/agentjail/index");
	return r == 0 ? 0 : -1;
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The run's stash has the host's own entries, too. The text lives in the arena. */
static const char *host_stash(struct aj_history_work *w)
{
	struct aj_buffer out = { 0 };
	struct aj_error none = { 0 };
	const char *const argv[] = { "reflog", "show", "--format=%H", "refs/stash", "--", NULL };
	bool asked = aj_refs_find(&w->run, "refs/agentjail/stash/0") && aj_git_run(&w->git, argv, NULL, &out, &none) == 0;
	const char *ret = asked && out.bytes ? aj_strndup(w->arena, out.data, out.bytes) : "";
	aj_buffer_free(&out);
	return ret;
}

/* What the host does not have under the same name. */
static void choose_refs(struct aj_history_work *w)
{
	const char *stash = host_stash(w);
	for (size_t i = 0; i < w->run.count; i++) {
		const struct aj_ref *r = &w->run.items[i];
		const char *name = aj_ref_map(w->arena, w->prefix, r->name), *was = aj_refs_find(&w->host, r->name);
		if (strcmp(r->name, "HEAD") == 0)
			was = w->repo->host_oid;
		if (starts(r->name, "refs/agentjail/stash/") && strstr(stash, r->oid))
			was = r->oid;
		if (name && !(was && strcmp(was, r->oid) == 0))
			*AJ_PUSH(w->arena, &w->repo->refs) = (struct aj_history_ref){
				.name = name, .named = r->name, .oid = r->oid, .was = was
			};
	}
}

/* --- objects --- */

static int count_objects(struct aj_history_work *w, uint64_t *ret)
{
	struct aj_buffer out = { 0 };
	int r = AJ_GIT(w, NULL, &out, "count-objects", "-v");
	aj_buffer_add(&out, "", 1);
	const char *at = r == 0 ? strstr(out.data, "in-pack: ") : NULL;
	*ret = at ? strtoull(at + 9, NULL, 10) : 0;
	aj_buffer_free(&out);
	return r == 0 ? 0 : -1;
}

int aj_history_fetch_wanted(struct aj_history_work *w, const struct aj_buffer *wanted)
{
	uint64_t objects = 0, most = w->state->record.git_objects, most_bytes = w->state->record.git_bytes;
	take_peer(w);
	w->git.file_bytes = most_bytes;
	int r = AJ_GIT(w, wanted, NULL, "fetch", "--dry-run", "--stdin", "--quiet", "--no-tags", "--no-write-fetch-head",
	               "--no-recurse-submodules", "--no-auto-maintenance", AJ_GIT_PEER);
	w->git.peer = NULL;
	w->git.file_bytes = 0;
	if (r != 0 && w->git.objects && most_bytes && aj_incoming_largest(w->git.objects) >= most_bytes) {
		w->err = (struct aj_error){ 0 };
		return aj_fail(&w->err, AJ_EXIT_LIMIT, "git", 0, "the new history has more than %llu bytes (limits.git_pack)",
		               (unsigned long long)most_bytes);
	}
	if (r != 0 || count_objects(w, &objects) < 0)
		return -1;
	if (most && objects > most) {
		aj_fail(&w->err, AJ_EXIT_LIMIT, "git", 0,
		        "%llu new objects, and the run's policy allows %llu (limits.git_objects)", (unsigned long long)objects,
		        (unsigned long long)most);
		return -1;
	}
	return 0;
}

static int fetch_objects(struct aj_history_work *w)
{
	struct aj_incoming in;
	struct aj_buffer wanted = { 0 };
	int r = aj_incoming_open(&in, w->common, w->arena, &w->err);
	for (size_t i = 0; i < w->repo->refs.count; i++)
		aj_buffer_text(&wanted, aj_printf(w->arena, "%s\n", w->repo->refs.items[i].oid));
	w->git.objects = in.path;
	r = r < 0 ? r : aj_history_fetch_wanted(w, &wanted);
	w->git.objects = NULL;
	r = r < 0 ? r : aj_incoming_keep(&in, &w->err);
	aj_incoming_close(&in);
	aj_buffer_free(&wanted);
	return r;
}

static int update_refs(struct aj_history_work *w, struct aj_buffer *lines)
{
	int r = lines->bytes ? AJ_GIT(w, lines, NULL, "update-ref", "--no-deref", "--stdin") : 0;
	aj_buffer_free(lines);
	return r == 0 ? 0 : -1;
}

static int write_refs(struct aj_history_work *w)
{
	struct aj_buffer gone = { 0 }, now = { 0 };
	struct aj_refs kept = { 0 };
	for (size_t i = 0; i < w->repo->refs.count; i++) {
		const struct aj_history_ref *r = &w->repo->refs.items[i];
		*AJ_PUSH(w->arena, &kept) = (struct aj_ref){ r->name, r->oid };
	}
	aj_refs_sort(&kept);
	for (size_t i = 0; i < kept.count; i++) {
		const char *old = aj_refs_find(&w->host, kept.items[i].name);
		if (!old || strcmp(old, kept.items[i].oid) != 0)
			aj_buffer_text(&now, aj_printf(w->arena, "update %s %s\n", kept.items[i].name, kept.items[i].oid));
	}
	for (size_t i = 0; i < w->host.count; i++)
		if (starts(w->host.items[i].name, w->prefix) && !aj_refs_find(&kept, w->host.items[i].name))
			aj_buffer_text(&gone, aj_printf(w->arena, "delete %s\n", w->host.items[i].name));
	/* Those of an earlier fetch first: a branch `a` of then and an `a/b` of now exclude each other. */
	return update_refs(w, &gone) < 0 ? (aj_buffer_free(&now), -1) : update_refs(w, &now);
}

/* --- what became of both --- */

/* In a shell. */
static const char *quoted(struct aj_arena *arena, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./@+=,";
	if (word[strspn(word, plain)] == '\0')
		return word;
	char *out = aj_alloc(arena, 4 * strlen(word) + 3), *at = out;
	*at++ = '\'';
	for (; *word; word++)
		at = *word == '\'' ? stpcpy(at, "'\\''") : (*at = *word, at + 1);
	stpcpy(at, "'");
	return out;
}

/* The command, and what it takes: `git -C lib` and `agentjail/ID/main`. */
static const char *git_in(struct aj_arena *arena, const struct aj_history_repo *repo)
{
	const char *tree = repo->tree;
	return !tree || strcmp(tree, ".") == 0 ? "git" : aj_printf(arena, "git -C %s", quoted(arena, tree));
}

static const char *run_head(const struct aj_history_work *w)
{
	const char *name = w->repo->run_branch ? w->repo->run_branch : "HEAD";
	return quoted(w->arena, aj_ref_map(w->arena, w->prefix, name) + sizeof "refs/" - 1);
}

const char *aj_history_command(struct aj_arena *arena, const struct aj_history_repo *repo, const char *verb, const char *ref)
{
	return aj_printf(arena, "%s %s %s", git_in(arena, repo), verb, quoted(arena, ref + sizeof "refs/" - 1));
}

static const char *take_over(const struct aj_history_work *w)
{
	static const size_t heads = sizeof "refs/heads/" - 1;
	const struct aj_history_repo *r = w->repo;
	struct aj_arena *arena = w->arena;
	const char *git = git_in(w->arena, w->repo), *from = run_head(w);
	const char *theirs = r->run_branch ? aj_refs_find(&w->host, r->run_branch) : NULL;
	/* Git would take a name that begins with a dash for an option. */
	bool plain = r->run_branch && r->run_branch[heads] != '-';
	const char *name = plain ? quoted(arena, r->run_branch + heads) : NULL;
	bool same = theirs && strcmp(theirs, r->run_oid) == 0;
	/* The working tree is what the run left, and git switches over no such changes. */
	if (w->state->record.direct && name && (same || !theirs))
		return aj_printf(arena, "%s%s symbolic-ref HEAD %s && %s reset -q",
		                 same ? "" : aj_printf(arena, "%s branch %s %s && ", git, name, from), git,
		                 quoted(arena, r->run_branch), git);
	if (same)
		return aj_printf(arena, "%s switch %s", git, name);
	if (name && !theirs)
		return aj_printf(arena, "%s switch -c %s %s", git, name, from);
	return aj_printf(arena, "%s merge %s", git, from);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct aj_history_path *)a)->path, ((const struct aj_history_path *)b)->path);
}

/* ":MODE MODE OID OID STATUS" and a path, each with a NUL. */
static void read_touched(struct aj_history_work *w, const struct aj_buffer *out)
{
	struct aj_history_repo *r = w->repo;
	const char *at = out->data, *end = at ? at + out->bytes : at;
	bool top = strcmp(r->tree, ".") == 0;
	while (at < end && *at == ':') {
		const char *path = memchr(at, '\0', (size_t)(end - at)),
			   *after = path ? memchr(path + 1, '\0', (size_t)(end - path - 1)) : NULL;
		const char *mode = memchr(at, ' ', (size_t)(end - at)), *old = mode ? strchr(mode + 1, ' ') : NULL;
		const char *oid = old ? strchr(old + 1, ' ') : NULL, *status = oid ? strchr(oid + 1, ' ') : NULL;
		if (!after || !status)
			return;
		struct aj_history_path *p = AJ_PUSH(w->arena, &r->touched);
		p->path = top ? aj_strdup(w->arena, path + 1) : aj_printf(w->arena, "%s/%s", r->tree, path + 1);
		p->mode = (unsigned)strtoul(mode + 1, NULL, 8);
		p->oid = p->mode && p->mode != AJ_HISTORY_SUBMODULE ? aj_strndup(w->arena, oid + 1, (size_t)(status - oid - 1))
		                                                    : NULL;
		at = after + 1;
	}
	if (r->touched.count)
		qsort(r->touched.items, r->touched.count, sizeof *r->touched.items, by_path);
}

static int compare_trees(struct aj_history_work *w)
{
	const struct aj_history_repo *r = w->repo;
	struct aj_buffer out = { 0 };
	const char *base = r->base_oid ? r->base_oid : GIT_LINE(w, "hash-object", "-t", "tree", "--stdin");
	if (!base)
		return aj_fail(&w->err, AJ_EXIT_SETUP, "git", 0, "git cannot name the empty tree of `%s`", r->dir);
	int result = AJ_GIT(w, NULL, &out, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, r->run_oid);
	if (result == 0)
		read_touched(w, &out);
	aj_buffer_free(&out);
	return result == 0 ? 0 : -1;
}

/* Which working tree keeps the branch where it is, for people; NULL: none. Git refuses to move one that another has, too. */
static const char *held_by(struct aj_history_work *w)
{
	const struct aj_history_repo *r = w->repo;
	struct aj_buffer out = { 0 };
	const char *line = aj_printf(w->arena, "\nbranch %s\n", r->branch ? r->branch : "");
	size_t found = 0;
	if (!r->tree && GIT_LINE(w, "config", "core.worktree"))
		return "its working tree is not in the workspace";
	AJ_GIT(w, NULL, &out, "worktree", "list", "--porcelain");
	aj_buffer_add(&out, "", 1);
	for (const char *at = out.data; (at = strstr(at, line)); at++)
		found++;
	aj_buffer_free(&out);
	return found > 1 ? "another working tree has this branch, too" : NULL;
}

/* No commit, switch or fetch of the host has moved its HEAD since the run began; false where that is not known. */
static bool head_stayed(const struct aj_history_work *w)
{
	struct stat st;
	return stat(aj_printf(w->arena, "%s/logs/HEAD", w->repo->dir), &st) == 0 &&
	       st.st_mtim.tv_sec * 1000000000L + st.st_mtim.tv_nsec < w->state->record.started_ns;
}

static void note_apart(struct aj_history_work *w, bool ahead, bool same_branch, const char *held)
{
	struct aj_history_repo *r = w->repo;
	r->verdict = AJ_HISTORY_APART;
	if (!ahead && same_branch && head_stayed(w)) {
		r->why = "the run has rewritten commits that you have, by rebase, amend or reset";
		r->command = aj_printf(w->arena, "%s reset %s %s", git_in(w->arena, w->repo),
		                       w->state->record.direct ? "-q" : "--keep", run_head(w));
		return;
	}
	r->why = held ? held : !ahead ? "you and the run have both made commits" : "the run is on another branch";
	r->command = r->tree ? take_over(w) : NULL;
}

static int judge(struct aj_history_work *w)
{
	struct aj_history_repo *r = w->repo;
	r->verdict = AJ_HISTORY_SAME;
	if (!r->run_oid || (r->host_oid && strcmp(r->run_oid, r->host_oid) == 0))
		return 0;
	r->base_oid = r->host_oid ? GIT_LINE(w, "merge-base", r->host_oid, r->run_oid) : NULL;
	if (r->base_oid && strcmp(r->base_oid, r->run_oid) == 0)
		return 0;
	bool ahead = !r->host_oid || (r->base_oid && strcmp(r->base_oid, r->host_oid) == 0);
	const char *became = r->branch ? aj_refs_find(&w->run, r->branch) : r->run_branch ? NULL : r->run_oid;
	bool same_branch = became && strcmp(became, r->run_oid) == 0;
	const char *held = ahead && same_branch ? held_by(w) : NULL;
	if (ahead && same_branch && !held)
		r->verdict = AJ_HISTORY_FORWARD;
	else
		note_apart(w, ahead, same_branch, held);
	return r->tree ? compare_trees(w) : 0;
}

/* What is staged in the run is no news where the host has staged the same. */
static void forget_index(struct aj_history_work *w)
{
	struct aj_history_repo *r = w->repo;
	struct aj_error differs = { 0 };
	if (!r->index_oid || !r->dir ||
	    aj_git_run(&w->git, (const char *const[]){ "diff-index", "--cached", "--quiet", r->index_oid, "--", NULL }, NULL,
	               NULL, &differs) != 0)
		return;
	r->index_oid = NULL;
	for (size_t i = 0; i < r->refs.count; i++)
		if (strcmp(r->refs.items[i].named, "refs/agentjail/index") == 0) {
			memmove(&r->refs.items[i], &r->refs.items[i + 1], (r->refs.count - i - 1) * sizeof *r->refs.items);
			r->refs.count--;
		}
}

/* For aj_history_forget(): the git folder, with a NUL. */
static int note_fetched(struct aj_history_work *w)
{
	const char *git = w->repo->git;
	cleanup_fd int fd = w->repo->refs.count ? aj_beneath_open_here(w->state->dir, FETCHED, O_WRONLY | O_CREAT | O_APPEND)
	                                        : -1;
	if (w->repo->refs.count && (fd < 0 || aj_write_all(fd, git, strlen(git) + 1) < 0))
		return aj_fail(&w->err, AJ_EXIT_SETUP, "changes", errno, "note in the state folder that `%s` was fetched", git);
	return 0;
}

static int fetch_one(struct aj_history_work *w)
{
	if (read_host(w) < 0 || aj_history_read_run(w) < 0)
		return -1;
	choose_refs(w);
	if (w->repo->refs.count > REFS_MAX)
		return aj_fail(&w->err, AJ_EXIT_LIMIT, "git", 0,
		               "the run has %zu references that the host lacks, and %d are fetched at most", w->repo->refs.count,
		               REFS_MAX);
	if (w->repo->refs.count && fetch_objects(w) < 0)
		return -1;
	forget_index(w);
	return note_fetched(w) < 0 || write_refs(w) < 0 ? -1 : judge(w);
}

/* --- which repositories --- */

/* An ID is a part of a reference's name, except for a few. */
const char *aj_history_prefix(const char *id, struct aj_arena *arena)
{
	char *prefix = aj_printf(arena, "refs/agentjail/%s/", id);
	size_t bytes = strlen(prefix);
	bool fits = !strstr(prefix, "..") && prefix[bytes - 2] != '.' &&
	            (bytes < 6 || strncmp(prefix + bytes - 6, ".lock", 5) != 0);
	for (char *at = prefix; *at && !fits; at++)
		if (*at == '.')
			*at = '-';
	return prefix;
}

static bool is_git_folder(int top, const char *path)
{
	cleanup_fd int dir = aj_beneath_open(top, path, O_RDONLY | O_DIRECTORY);
	return dir >= 0 && aj_beneath_has(dir, "HEAD") && aj_beneath_has(dir, "objects");
}

/* Of a folder `.git`, by its place; of any other one what its configuration says, if that is in the workspace. */
static const char *tree_of(struct aj_history_work *w)
{
	const char *git = w->repo->git, *slash = strrchr(git, '/'), *workspace = w->state->record.workspace;
	if (aj_change_is_main(&w->state->record, git))
		return ".";
	if (strcasecmp(slash ? slash + 1 : git, ".git") == 0)
		return slash ? aj_strndup(w->arena, git, (size_t)(slash - git)) : ".";
	w->git = (struct aj_git){ .dir = w->common };
	const char *set = GIT_LINE(w, "config", "core.worktree");
	const char *path = !set ? NULL : set[0] == '/' ? set : aj_printf(w->arena, "%s/%s", w->common, set);
	const char *rest = path ? aj_path_rest(aj_path_simplify(path, w->arena), workspace) : NULL;
	return rest ? *rest ? rest + 1 : "." : NULL;
}

/* Why git is not run for it, or NULL. */
static const char *examine(struct aj_history_work *w)
{
	const char *git = w->repo->git;
	int top = git[0] == '/' ? AT_FDCWD : w->state->workspace;
	struct stat run, host;
	struct aj_change_side side = aj_change_side(w->state, git);
	bool there = fstatat(top, git, &host, AT_SYMLINK_NOFOLLOW) == 0,
	     shown = fstatat(side.view, side.path, &run, AT_SYMLINK_NOFOLLOW) == 0;
	w->repo->verdict = AJ_HISTORY_UNREADABLE;
	if (shown && !S_ISDIR(run.st_mode) && !S_ISCHR(run.st_mode))
		return "it is no folder, and would lead the host's git elsewhere";
	if ((shown && S_ISCHR(run.st_mode)) || (!shown && w->state->record.copy)) {
		w->repo->verdict = AJ_HISTORY_DELETED;
		return "the run has deleted it, and the host's stays";
	}
	if (!there)
		w->repo->verdict = AJ_HISTORY_NEW;
	else if (!is_git_folder(top, git))
		return "what the host has there is no git folder of its own";
	return NULL;
}

static struct aj_history_repo *fetch_repo(struct aj_change_state *state, struct aj_arena *arena, struct aj_history *history,
                                          const char *git)
{
	const struct aj_change_record *record = &state->record;
	struct aj_history_repo *r = AJ_PUSH(arena, &history->repos);
	struct aj_history_work w = { .state = state, .arena = arena, .repo = r, .prefix = aj_history_prefix(state->id, arena) };
	bool main = aj_change_is_main(record, git), gone = main && !aj_change_state_has_worktree(state);
	char why[600];
	r->git = aj_strdup(arena, git);
	w.common = aj_change_host_path(record, git, arena);
	if ((r->why = examine(&w)) || r->verdict == AJ_HISTORY_NEW)
		return r;
	r->tree = gone ? NULL : tree_of(&w);
	r->dir = main && !gone ? aj_printf(arena, "%s/worktrees/%s", git, record->worktree) : w.common;
	r->work = r->tree ? aj_change_host_path(record, r->tree, arena) : NULL;
	w.git = (struct aj_git){ .dir = r->dir, .common = w.common, .tree = r->work };
	if (fetch_one(&w) == 0)
		return r;
	r->verdict = AJ_HISTORY_UNREADABLE;
	r->why = aj_strdup(arena, aj_error_cause(&w.err, why, sizeof why));
	r->refs.count = r->touched.count = 0;
	return r;
}

/* --- submodules --- */

struct submodules {
	struct aj_change_state *state;
	struct aj_arena *arena;
	AJ_LIST(const char *) found;
};

/* Those that the host has, in the folder `modules` of a git folder; their names may have slashes. In an overlay those that the
 * run wrote to. */
static void find_submodules(struct submodules *s, const char *folder, int depth)
{
	struct aj_change_side side = aj_change_side(s->state, folder);
	cleanup_fd int dir = aj_beneath_open(side.host, side.path, O_RDONLY | O_DIRECTORY);
	cleanup_fd int view = dir < 0 ? -1 : aj_beneath_open(side.view, side.path, O_RDONLY | O_DIRECTORY);
	struct aj_entries names;
	if (view < 0 || depth >= DEPTH_MAX || aj_entries_read(dir, &names) < 0)
		return;
	for (size_t i = 0; i < names.count && s->found.count < SUBMODULES_MAX; i++) {
		const char *path = aj_printf(s->arena, "%s/%s", folder, names.items[i]);
		if (!aj_beneath_has(view, names.items[i]))
			continue;
		bool git = is_git_folder(dir, names.items[i]);
		if (git)
			*AJ_PUSH(s->arena, &s->found) = path;
		find_submodules(s, git ? aj_printf(s->arena, "%s/modules", path) : path, depth + 1);
	}
	aj_entries_free(&names);
}

void aj_history_fetch(struct aj_change_state *state, const char *const *repos, size_t count, struct aj_arena *arena,
                      struct aj_history *ret)
{
	*ret = (struct aj_history){ 0 };
	for (size_t i = 0; i < count; i++) {
		struct submodules subs = { .state = state, .arena = arena };
		if (!fetch_repo(state, arena, ret, repos[i])->dir)
			continue;
		find_submodules(&subs, aj_printf(arena, "%s/modules", repos[i]), 0);
		if (aj_change_is_main(&state->record, repos[i]))
			find_submodules(&subs, aj_printf(arena, "%s/worktrees/%s/modules", repos[i], state->record.worktree), 0);
		for (size_t k = 0; k < subs.found.count; k++)
			fetch_repo(state, arena, ret, subs.found.items[k]);
	}
}

/* --- the references of a run that is gone --- */

static int forget_one(struct aj_change_state *state, const char *git, struct aj_arena *arena, struct aj_error *err)
{
	const char *prefix = aj_history_prefix(state->id, arena), *dir = aj_change_host_path(&state->record, git, arena);
	const struct aj_git at = { .dir = dir };
	const char *const list[] = { "for-each-ref", "--format=delete %(refname)", aj_strndup(arena, prefix, strlen(prefix) - 1),
		                     NULL };
	const char *const update[] = { "update-ref", "--no-deref", "--stdin", NULL };
	struct aj_buffer lines = { 0 };
	if (!is_git_folder(AT_FDCWD, dir))
		return 0;
	int r = aj_git_run(&at, list, NULL, &lines, err);
	if (r == 0 && lines.bytes)
		r = aj_git_run(&at, update, &lines, NULL, err);
	aj_buffer_free(&lines);
	return r == 0 ? 0 : -1;
}

int aj_history_forget(struct aj_change_state *state, struct aj_error *err)
{
	struct stat st;
	struct aj_arena arena = { 0 };
	cleanup_fd int fd = aj_node_open_file(state->dir, FETCHED, false, &st);
	if (fd < 0)
		return errno == ENOENT ? 0
		                       : aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "read which repositories were fetched");
	size_t bytes = st.st_size > FETCHED_BYTES ? FETCHED_BYTES : (size_t)st.st_size;
	char *text = aj_alloc(&arena, bytes + 1), *end = text + bytes;
	int r = aj_read_all(fd, text, bytes) < 0
	          ? aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "read which repositories were fetched")
	          : 0;
	for (char *at = text; r == 0 && at < end; at += strlen(at) + 1)
		r = forget_one(state, at, &arena, err);
	aj_arena_free(&arena);
	return r;
}

const struct aj_history_repo *aj_history_of(const struct aj_history *history, const char *path)
{
	const struct aj_history_repo *best = NULL;
	size_t longest = 0;
	for (size_t i = 0; i < history->repos.count; i++) {
		const struct aj_history_repo *r = &history->repos.items[i];
		bool top = r->tree && strcmp(r->tree, ".") == 0;
		size_t bytes = r->tree && !top ? strlen(r->tree) : 0;
		if (r->tree && (top || (strncmp(path, r->tree, bytes) == 0 && path[bytes] == '/')) &&
		    (!best || bytes > longest)) {
			best = r;
			longest = bytes;
		}
	}
	return best;
}

const struct aj_history_path *aj_history_touched(const struct aj_history_repo *repo, const char *path)
{
	const struct aj_history_path key = { .path = path };
	return repo->touched.count ? bsearch(&key, repo->touched.items, repo->touched.count, sizeof key, by_path) : NULL;
}
