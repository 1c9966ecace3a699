/* The main repository of a linked worktree without a run: the rules by path, the record, the trees that a path lies in, and what is locked. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/changes/apply.h"
#include "workspace/changes/apply_locks.h"
#include "workspace/changes/apply_select.h"
#include "workspace/changes/main_packed.h"
#include "workspace/changes/main_rules.h"
#include "workspace/changes/run_state.h"

#define HEX38 "83f870be446c7cc05ffaef9fa06415276e1828"
#define HEX62 "83f870be446c7cc05ffaef9fa06415276e182883f870be446c7cc05ffaef9f"

enum { FILE_MODE = S_IFREG | 0644, FOLDER = S_IFDIR | 0755, LINK = S_IFLNK | 0777 };

static struct aj_change change_of(const char *path, enum aj_change_kind kind, mode_t was, mode_t is)
{
	struct aj_change c = { .path = path, .kind = kind };
	c.was.st_mode = was;
	c.is.st_mode = is;
	return c;
}

static enum aj_main_verdict judge(const char *below, enum aj_change_kind kind, mode_t was, mode_t is)
{
	struct aj_change c = change_of(below, kind, was, is);
	struct aj_main_rule r = aj_main_rule(below, "ws", &c);
	cr_expect_eq(r.why == NULL, r.verdict == AJ_MAIN_PART, "%s", below);
	return r.verdict;
}

static enum aj_main_verdict added(const char *below)
{
	return judge(below, AJ_CHANGE_ADDED, 0, FILE_MODE);
}

static enum aj_main_verdict modified(const char *below)
{
	return judge(below, AJ_CHANGE_MODIFIED, FILE_MODE, FILE_MODE);
}

static enum aj_main_verdict deleted(const char *below)
{
	return judge(below, AJ_CHANGE_DELETED, FILE_MODE, 0);
}

Test(main_rules, parts)
{
	static const char *const paths[] = { "refs/heads/x",
		                             "refs/tags/v1",
		                             "refs/remotes/o/x",
		                             "refs/stash",
		                             "logs/refs/heads/a/b",
		                             "worktrees/ws/HEAD",
		                             "worktrees/ws/index",
		                             "worktrees/ws/logs/HEAD",
		                             "worktrees/ws/ORIG_HEAD",
		                             "worktrees/ws/MERGE_MSG",
		                             "worktrees/ws/refs/bisect/bad" };
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		cr_expect(added(paths[i]) == AJ_MAIN_PART && modified(paths[i]) == AJ_MAIN_PART, "%s", paths[i]);
	cr_expect_eq(added("objects/36/" HEX38), AJ_MAIN_PART);
	cr_expect_eq(added("objects/36/" HEX62), AJ_MAIN_PART);
	cr_expect_eq(judge("objects/36", AJ_CHANGE_ADDED, 0, FOLDER), AJ_MAIN_PART);
	cr_expect_eq(judge("refs/heads/feature", AJ_CHANGE_ADDED, 0, FOLDER), AJ_MAIN_PART);
	cr_expect_eq(deleted("worktrees/ws/MERGE_HEAD"), AJ_MAIN_PART);
}

Test(main_rules, what_holds_the_whole)
{
	cr_expect_eq(added("objects/pack/pack-12ab.pack"), AJ_MAIN_HOLDS);
	cr_expect_eq(added("objects/pack/pack-12ab.idx"), AJ_MAIN_HOLDS);
	cr_expect_eq(modified("packed-refs"), AJ_MAIN_HOLDS);
	cr_expect_eq(added("shallow"), AJ_MAIN_HOLDS);
	cr_expect_eq(deleted("worktrees/ws/index"), AJ_MAIN_HOLDS);
}

Test(main_rules, what_waits_for_its_name)
{
	static const char *const paths[] = { "config",
		                             "config.worktree",
		                             "hooks/pre-commit",
		                             "info/attributes",
		                             "info/exclude",
		                             "modules/m/config",
		                             "commondir",
		                             "lfs/objects/x",
		                             "rr-cache/x",
		                             "description",
		                             "unknown",
		                             "Refs/heads/x",
		                             "HEAD~1",
		                             "refs/replace/x",
		                             "worktrees/ws/config.worktree",
		                             "worktrees/ws/rebase-merge/git-rebase-todo",
		                             "worktrees/ws/locked",
		                             "worktrees/ws/BISECT_NAMES",
		                             "worktrees/ws/x" };
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		cr_expect(added(paths[i]) == AJ_MAIN_HELD && modified(paths[i]) == AJ_MAIN_HELD && deleted(paths[i]) == AJ_MAIN_HELD,
		          "%s", paths[i]);
	cr_expect_eq(deleted("refs/heads/x"), AJ_MAIN_HELD);
	cr_expect_eq(deleted("logs/refs/heads/x"), AJ_MAIN_HELD);
	struct aj_change c = change_of("hooks/pre-commit", AJ_CHANGE_ADDED, 0, FILE_MODE);
	cr_expect_eq(aj_main_rule("hooks/pre-commit", "ws", &c).held_bytes, strlen("hooks"));
	cr_expect_eq(aj_main_rule("worktrees/ws/rebase-merge/done", "ws", &c).held_bytes, strlen("worktrees/ws/rebase-merge"));
	cr_expect_eq(aj_main_rule("lfs/objects/x", "ws", &c).held_bytes, strlen("lfs"));
}

Test(main_rules, what_is_refused)
{
	static const char *const paths[] = { "HEAD",
		                             "index",
		                             "ORIG_HEAD",
		                             "FETCH_HEAD",
		                             "BISECT_LOG",
		                             "logs/HEAD",
		                             "refs/bisect/bad",
		                             "worktrees/other/HEAD",
		                             "worktrees/other",
		                             "worktrees/ws2/index",
		                             "worktrees/ws/gitdir",
		                             "worktrees/ws/commondir",
		                             "objects/info/packs",
		                             "objects/info/commit-graph",
		                             "objects/pack/multi-pack-index",
		                             "objects/pack/pack-12ab.bitmap",
		                             "objects/36/tmp_obj_x",
		                             "objects/36/short",
		                             "objects/xx" };
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		cr_expect(added(paths[i]) == AJ_MAIN_REFUSED && modified(paths[i]) == AJ_MAIN_REFUSED, "%s", paths[i]);
	cr_expect_eq(modified("objects/36/" HEX38), AJ_MAIN_REFUSED);
	cr_expect_eq(deleted("objects/36/" HEX38), AJ_MAIN_REFUSED);
	cr_expect_eq(deleted("objects/pack/pack-12ab.pack"), AJ_MAIN_REFUSED);
	cr_expect_eq(judge("objects", AJ_CHANGE_MODE, FOLDER, FOLDER), AJ_MAIN_REFUSED);
	cr_expect_eq(judge("refs/heads/x", AJ_CHANGE_MODE, FILE_MODE, FILE_MODE), AJ_MAIN_REFUSED);
	cr_expect_eq(judge("config", AJ_CHANGE_TYPE, FILE_MODE, LINK), AJ_MAIN_REFUSED);
	cr_expect_eq(judge("refs/heads/feature", AJ_CHANGE_DELETED, FOLDER, 0), AJ_MAIN_REFUSED);
	cr_expect(added("index.lock") == AJ_MAIN_REFUSED && added("refs/heads/x.lock") == AJ_MAIN_REFUSED &&
	          added("worktrees/ws/HEAD.lock") == AJ_MAIN_REFUSED);
}

Test(main_rules, what_spoils_the_whole)
{
	static const char *const paths[] = { "refs/heads/-x",
		                             "refs/heads/.x",
		                             "refs/heads/a..b",
		                             "refs/heads/a b",
		                             "refs/heads/x.",
		                             "refs/heads/a@{b",
		                             "refs/heads/a~1",
		                             "objects/info/alternates",
		                             "objects/info/http-alternates",
		                             "objects/pack/pack-12ab.promisor",
		                             "reftable/tables.list",
		                             "worktrees/ws/reftable/x" };
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		cr_expect_eq(added(paths[i]), AJ_MAIN_SPOILS, "%s", paths[i]);
	cr_expect_eq(judge("refs/heads/x", AJ_CHANGE_TYPE, FILE_MODE, LINK), AJ_MAIN_SPOILS);
	cr_expect_eq(judge("refs/heads/x", AJ_CHANGE_TYPE, FILE_MODE, FOLDER), AJ_MAIN_SPOILS);
	cr_expect_eq(judge("refs/heads/x", AJ_CHANGE_ADDED, 0, LINK), AJ_MAIN_SPOILS);
	cr_expect_eq(judge("worktrees/ws/index", AJ_CHANGE_TYPE, FILE_MODE, LINK), AJ_MAIN_SPOILS);
	cr_expect_eq(judge("worktrees/ws", AJ_CHANGE_DELETED, FOLDER, 0), AJ_MAIN_SPOILS);
	cr_expect_eq(judge("refs", AJ_CHANGE_DELETED, FOLDER, 0), AJ_MAIN_SPOILS);
	cr_expect_eq(judge("objects", AJ_CHANGE_TYPE, FOLDER, LINK), AJ_MAIN_SPOILS);
	cr_expect_eq(judge("packed-refs", AJ_CHANGE_TYPE, FILE_MODE, LINK), AJ_MAIN_SPOILS);
	cr_expect_eq(deleted("worktrees/ws/HEAD"), AJ_MAIN_SPOILS);
}

Test(main_repository, record)
{
	static const char good[] = "{\"version\":1,\"id\":\"x\",\"mode\":\"overlay\",\"workspace\":\"/a/b\",\"started_ns\":5,\"device\":1,\"inode\":2,\"protected\":[],"
				   "\"repository\":\"/m/.git\",\"worktree\":\"ws\",\"repository_device\":1,\"repository_inode\":3,\"worktree_inode\":4}";
	static const char *const wrong[] = { "/m/.git", "m/.git", "/m/.git",    "/m/../.git", "/m/.git",    "/a/b/.git",
		                             "/m/.git", "/a",     "\"ws\"",     "\"..\"",     "\"ws\"",     "\"a/b\"",
		                             "\"ws\"",  "\"\"",   "_inode\":3", "_inode\":0", "_inode\":4", "_inode\":0" };
	struct aj_arena arena = { 0 };
	struct aj_change_record record;
	struct aj_error err = { 0 };
	cr_assert_eq(aj_change_record_read(good, strlen(good), &arena, &record, &err), 0, "%s", err.cause);
	cr_expect_str_eq(record.repository, "/m/.git");
	cr_expect_str_eq(record.worktree, "ws");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i += 2) {
		char text[1000];
		const char *at = strstr(good, wrong[i]);
		cr_assert_not_null(at);
		snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, wrong[i + 1], at + strlen(wrong[i]));
		cr_expect_eq(aj_change_record_read(text, strlen(text), &arena, &record, &err), -1, "%s", text);
	}
	aj_arena_free(&arena);
}

Test(main_repository, sides)
{
	struct aj_change_state s = AJ_NO_CHANGE_STATE;
	s.view = 11;
	s.workspace = 12;
	s.repository_view = 13;
	s.repository = 14;
	s.record.repository = "/m/.git";
	struct aj_change_side side = aj_change_side(&s, "a/b");
	cr_expect(side.view == 11 && side.host == 12 && strcmp(side.path, "a/b") == 0 && side.base == &s.base);
	side = aj_change_side(&s, "/m/.git/refs/heads/x");
	cr_expect(side.view == 13 && side.host == 14 && strcmp(side.path, "refs/heads/x") == 0 && side.base == &s.repository_base);
	side = aj_change_side(&s, "/m/.git");
	cr_expect(side.host == 14 && strcmp(side.path, ".") == 0);
	static const char *const elsewhere[] = { "/m/.gitx", "/m", "/", "/m/.gi", "/etc/passwd" };
	for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
		side = aj_change_side(&s, elsewhere[i]);
		cr_expect(side.view == -1 && side.host == -1, "%s", elsewhere[i]);
	}
	s.record.repository = "";
	cr_expect_eq(aj_change_side(&s, "/m/.git/x").host, -1);
}

Test(main_repository, selection_and_order)
{
	struct aj_change c = change_of("/m/.git/refs/heads/x", AJ_CHANGE_ADDED, 0, FILE_MODE);
	cr_expect_not(aj_select_covers(".", c.path));
	cr_expect(aj_select_covers(".", "refs"));
	cr_expect(aj_select_covers("/m/.git", c.path));
	cr_expect_not(aj_select_covers("/m/.gi", c.path));
	c.unit_bytes = strlen("/m/.git");
	cr_expect_eq(aj_apply_pass(&c), AJ_PASS_GIT_HEADS);
	c.path = "/m/.git/objects/36/" HEX38;
	cr_expect_eq(aj_apply_pass(&c), AJ_PASS_GIT_OBJECTS);
	c.path = "/m/.git/worktrees/ws/index";
	cr_expect_eq(aj_apply_pass(&c), AJ_PASS_GIT_HEADS);
}

/* The paths of the steps that a journal has, with a newline behind each. */
static void read_steps(int dir, char *out)
{
	struct aj_journal j;
	char room[AJ_STEP_BYTES];
	struct aj_apply_step step;
	cr_assert_eq(aj_journal_open(&j, dir), 0);
	*out = '\0';
	for (size_t i = 0; i < j.count; i++) {
		cr_assert(aj_journal_step(&j, i, room, &step));
		cr_expect_eq(step.op, AJ_STEP_LOCK);
		strcat(strcat(out, step.path), "\n");
	}
	aj_journal_close(&j);
}

Test(main_repository, locks)
{
	static const char *const paths[] = { "/m/.git/objects/36/" HEX38,           "/m/.git/refs/heads/x",
		                             "/m/.git/logs/refs/heads/x",           "/m/.git/config",
		                             "/m/.git/worktrees/ws/index",          "/m/.git/packed-refs",
		                             "/m/.git/worktrees/ws/refs/bisect/bad" };
	char folder[] = "/tmp/aj-unit.XXXXXX", text[4096];
	struct aj_change_state s = AJ_NO_CHANGE_STATE;
	struct aj_apply_locks locks = { 0 };
	struct aj_journal_writer w;
	cr_assert_not_null(mkdtemp(folder));
	cleanup_fd int dir = open(folder, O_RDONLY | O_DIRECTORY);
	s.record.repository = "/m/.git";
	s.record.worktree = "ws";
	cr_assert_eq(aj_journal_begin(&w, dir), 0);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct aj_change c = change_of(paths[i], AJ_CHANGE_ADDED, 0, FILE_MODE);
		aj_apply_lock(&locks, &w, &s, &c);
	}
	cr_assert_eq(aj_journal_commit(&w, dir), 0);
	read_steps(dir, text);
	cr_expect_str_eq(text, "/m/.git/packed-refs.lock\n/m/.git/worktrees/ws/index.lock\n/m/.git/worktrees/ws/HEAD.lock\n/m/.git/refs/heads/x.lock\n"
	                       "/m/.git/config.lock\n/m/.git/worktrees/ws/refs/bisect/bad.lock\n");
	unlinkat(dir, "journal.staging", 0);
	rmdir(folder);
}

Test(main_rules, references_that_git_reads_by_itself)
{
	static const char *const paths[] = { "refs/main", "refs/notes/textconv/x", "refs/original/refs/heads/x", "logs/refs/main" };
	char name[sizeof "refs/heads/" + 255] = "refs/heads/";
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		cr_expect_eq(added(paths[i]), AJ_MAIN_HELD, "%s", paths[i]);
	memset(name + 11, 'x', 250);
	cr_expect_eq(added(name), AJ_MAIN_PART);
	name[261] = 'x'; /* git has no room for the name of its lock */
	cr_expect_eq(added(name), AJ_MAIN_SPOILS);
	cr_expect_eq(deleted("packed-refs"), AJ_MAIN_SPOILS);
}

/* References are applied; the objects that they name must not be left out behind a link. */
Test(main_rules, places_of_objects)
{
	cr_expect_eq(judge("objects/36", AJ_CHANGE_ADDED, 0, LINK), AJ_MAIN_SPOILS);
	cr_expect_eq(judge("objects/36", AJ_CHANGE_ADDED, 0, FILE_MODE), AJ_MAIN_SPOILS);
	cr_expect_eq(judge("objects/36", AJ_CHANGE_TYPE, FOLDER, LINK), AJ_MAIN_SPOILS);
	cr_expect_eq(judge("objects/pack", AJ_CHANGE_ADDED, 0, LINK), AJ_MAIN_SPOILS);
	cr_expect_eq(judge("objects/36/" HEX38, AJ_CHANGE_ADDED, 0, LINK), AJ_MAIN_SPOILS);
}

#define HEX40 "36" HEX38

static const char *read_packed(struct aj_arena *arena, const char *text, aj_packed_refs *ret)
{
	*ret = (aj_packed_refs){ 0 };
	return aj_packed_read(arena, aj_strdup(arena, text), ret);
}

Test(main_packed, lines_of_git)
{
	static const char *const others[] = { "x refs/heads/a\n",
		                              HEX40 "\n",
		                              HEX40 "0 refs/heads/a\n",
		                              HEX40 " refs/heads/a b\n",
		                              "^" HEX40 "\n",
		                              "\n" HEX40 " refs/heads/a\n",
		                              HEX40 " refs/heads/a\n# pack-refs\n",
		                              HEX40 " refs/heads/b\n" HEX40 " refs/heads/a\n",
		                              HEX40 " refs/heads/a\n" HEX40 " refs/heads/a\n",
		                              HEX40 " refs/tags/a\n^" HEX38 "\n" };
	struct aj_arena arena = { 0 };
	aj_packed_refs refs;
	cr_expect_null(read_packed(&arena,
	                           "# pack-refs with: peeled fully-peeled sorted \n" HEX40 " refs/heads/a/b\n" HEX40
	                           " refs/tags/v\n^" HEX40 "\n" HEX40 " refs/tags/w\n",
	                           &refs));
	cr_expect_eq(refs.count, 3);
	cr_expect_str_eq(aj_packed_id(&refs, "refs/tags/w"), HEX40);
	cr_expect_null(aj_packed_id(&refs, "refs/tags/x"));
	cr_expect_null(aj_packed_id(&refs, "refs/heads/a"));
	cr_expect(aj_packed_crosses(&refs, "refs/heads/a") && aj_packed_crosses(&refs, "refs/heads/a/b/c"));
	cr_expect_not(aj_packed_crosses(&refs, "refs/heads/a/b") || aj_packed_crosses(&refs, "refs/heads/a/c"));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		cr_expect_not_null(read_packed(&arena, others[i], &refs), "%s", others[i]);
	aj_arena_free(&arena);
}
