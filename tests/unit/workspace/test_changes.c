/* Changes without an overlay: records, lists of copies, steps of journals as texts; links and held places; and a walk over an upper layer
 * that is made by hand, with both kinds of whiteouts. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tree/node.h"
#include "base/tree/remove.h"
#include "policy/protected_places.h"
#include "workspace/changes/apply.h"
#include "workspace/changes/apply_journal.h"
#include "workspace/changes/apply_select.h"
#include "workspace/changes/approval_reached.h"
#include "workspace/changes/approval_spelling.h"
#include "workspace/changes/copied_files.h"
#include "workspace/changes/needs_approval.h"
#include "workspace/changes/repositories.h"
#include "workspace/changes/walk.h"

/* --- texts --- */

static int read_record(const char *text, struct aj_change_record *ret, struct aj_arena *arena)
{
	struct aj_error err = { 0 };
	return aj_change_record_read(text, strlen(text), arena, ret, &err);
}

Test(changes, record)
{
	static const char good
	    [] = "{\"version\":1,\"id\":\"x\",\"mode\":\"copy\",\"workspace\":\"/a/b\",\"seen_at\":\"/a/b\",\"policy\":\"p\",\"command\":[\"a\",\"b c\"],"
		 "\"started_ns\":5,\"ended_ns\":null,\"device\":1,\"inode\":2,\"protected\":[\".envrc\"]}";
	static const char *const wrong[] = { "\"version\":1",    "\"version\":2", "\"copy\"",     "\"other\"", "/a/b\",\"seen",
		                             "/a/../b\",\"seen", "/a/b\",\"seen", "a/b\",\"seen", ":5",        ":0",
		                             "\"inode\":2",      "\"inode\":0",   "[\".envrc\"]", "[3]",       "\"p\"",
		                             "\"p\\u0000\"" };
	struct aj_arena arena = { 0 };
	struct aj_change_record record;
	cr_assert_eq(read_record(good, &record, &arena), 0);
	cr_expect(record.copy);
	cr_expect_str_eq(record.workspace, "/a/b");
	cr_expect_str_eq(record.command, "a b c");
	cr_expect_eq(record.protect_count, 1);
	cr_expect_eq(record.ended_ns, 0);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i += 2) {
		char text[1000];
		const char *at = strstr(good, wrong[i]);
		cr_assert_not_null(at);
		snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, wrong[i + 1], at + strlen(wrong[i]));
		cr_expect_eq(read_record(text, &record, &arena), -1, "%s", text);
	}
	aj_arena_free(&arena);
}

Test(changes, ids)
{
	cr_expect(aj_changes_id_valid("1e97877dfdddca91"));
	cr_expect(aj_changes_id_valid("a.b-c_D"));
	cr_expect_not(aj_changes_id_valid(""));
	cr_expect_not(aj_changes_id_valid(".."));
	cr_expect_not(aj_changes_id_valid(".removed-x"));
	cr_expect_not(aj_changes_id_valid("a/b"));
	cr_expect_not(aj_changes_id_valid("\xff"));
	cr_expect_not(aj_changes_id_valid("01234567890123456789012345678901234567890123456789012345678901234"));
}

Test(changes, lines_of_a_copy)
{
	struct aj_base_entry e;
	char path[200];
	static const char line[] = "f 100644 12 -5 17 99 a b\\n\\\\c";
	cr_assert(aj_base_line(line, strlen(line), &e, path));
	cr_expect_eq(e.type, 'f');
	cr_expect_eq(e.ctime_ns, 17);
	cr_expect_eq(e.ino, 99);
	cr_expect_str_eq(path, "a b\n\\c");
	static const char *const wrong[] = {
		"", "f", "x 1 1 1 1 1 a", "f 1 1 1 1 1 ", "f 1 1 1 1 a", "f 1 1 1 1 1 a\\x", "f 1 1 1 1 1 a\\", "f 9 1 1 1 1 a"
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		cr_expect_not(aj_base_line(wrong[i], strlen(wrong[i]), &e, path), "%s", wrong[i]);
}

Test(changes, steps)
{
	struct aj_buffer out = { 0 };
	struct aj_apply_step step = { .op = AJ_STEP_PUT,
		                      .pass = AJ_PASS_LATE,
		                      .number = 7,
		                      .mode = S_IFREG | 0755,
		                      .was_mode = S_IFLNK | 0777,
		                      .dev = 1ULL << 40,
		                      .ino = UINT64_MAX,
		                      .bytes = 3,
		                      .mtime_ns = -9,
		                      .path = "a b/\nc" },
			     read;
	aj_step_write(&out, &step);
	cr_assert(aj_step_read(out.data, out.bytes, &read));
	cr_expect_str_eq(read.path, step.path);
	cr_expect(read.op == step.op && read.pass == step.pass && read.number == 7 && read.mode == step.mode &&
	          read.was_mode == step.was_mode);
	cr_expect(read.dev == step.dev && read.ino == step.ino && read.bytes == 3 && read.mtime_ns == -9);
	cr_expect_not(aj_step_read(out.data, out.bytes - 1, &read));
	static const char *const wrong[] = { "P 0 0 0 0 0 0 0 0 ../a", "P 0 0 0 0 0 0 0 0 //a",    "P 0 0 0 0 0 0 0 0 a/",
		                             "P 0 0 0 0 0 0 0 0 a//b", "P 0 0 0 0 0 0 0 0 a/../b", "P 0 0 0 0 0 0 0 0 ",
		                             "X 0 0 0 0 0 0 0 0 a",    "P 9 0 0 0 0 0 0 0 a",      "P 0 0 0 0 0 0 0 a",
		                             "P 0 0 0 0 0 0 0 0 .",    "P 0 0 0 0 0 0 0 0 /",      "P 0 0 0 0 0 0 0 0 /a/../b" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		cr_expect_not(aj_step_read(wrong[i], strlen(wrong[i]) + 1, &read), "%s", wrong[i]);
	aj_buffer_free(&out);
}

Test(changes, moves)
{
	static const struct aj_git_move moves[] = { { ".git", ".", "refs/heads/a/b", "0", "1234abcd" },
		                                    { "a b/\nc/.git", "a b/\nc", "HEAD", "ab", "cd" },
		                                    { "/m/.git", "", "refs/heads/x", "ab", "cd" },
		                                    { ".", "", "refs/heads/x", "ab", "cd" } };
	static const char *const wrong[] = {
		"0 1 refs/x .git",   "0 1 refs/x .git ../a", "0 1 refs/x ../x .", "0 1 main .git .",
		"0 x refs/x .git .", "0 1 refs/x .git /abs", "1 refs/x .git .",   "0  refs/x .git ."
	};
	char room[AJ_STEP_BYTES];
	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
		struct aj_buffer path = { 0 }, out = { 0 };
		struct aj_apply_step step = { .op = AJ_STEP_MOVE, .bytes = strlen(moves[i].git) }, read;
		struct aj_git_move move;
		aj_git_move_write(&path, &moves[i]);
		step.path = path.data;
		aj_step_write(&out, &step);
		cr_assert(aj_step_read(out.data, out.bytes, &read) && aj_git_move_read(&read, room, &move));
		const char *const wanted[] = { moves[i].git, moves[i].tree, moves[i].ref, moves[i].from, moves[i].to },
				  *const found[] = { move.git, move.tree, move.ref, move.from, move.to };
		for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
			cr_expect_str_eq(found[k], wanted[k]);
		aj_buffer_free(&path);
		aj_buffer_free(&out);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct aj_apply_step step = { .op = AJ_STEP_MOVE, .bytes = 4, .path = wrong[i] };
		struct aj_git_move move;
		cr_expect_not(aj_git_move_read(&step, room, &move), "%s", wrong[i]);
	}
}

/* --- what is held --- */

Test(changes, links)
{
	static const char *const out[] = { "x", "..",      "x", "../x",  "a/x", "../../y", "a/x", "b/../c", "x",   "/etc/passwd",
		                           "x", "/w/../y", "x", "/w/..", "x",   "/work",   "x",   "/",      "a/x", "..//../y" };
	cr_expect_not(aj_link_leads_out("a/x", "../y", "/w"));
	cr_expect_not(aj_link_leads_out("a/b/x", "../../y", "/w"));
	cr_expect_not(aj_link_leads_out("x", "/w/y", "/w"));
	cr_expect_not(aj_link_leads_out("x", ".", "/w"));
	cr_expect_not(aj_link_leads_out("x", "a/./b", "/w"));
	for (size_t i = 0; i < sizeof out / sizeof *out; i += 2)
		cr_expect(aj_link_leads_out(out[i], out[i + 1], "/w"), "%s -> %s", out[i], out[i + 1]);
	cr_expect_eq(aj_link_leads_out("x", "/usr/bin/env", "/w"), geteuid() == 0);
}

Test(changes, obeyed_places)
{
	static const char *const items[] = { AJ_PROTECT_DEFAULT, "secret/" };
	cr_expect_eq(aj_protect_obeyed(items, 2, "src/main.c"), 0);
	cr_expect_eq(aj_protect_obeyed(items, 2, ".envrc"), 6);
	cr_expect_eq(aj_protect_obeyed(items, 2, "a/.vscode/tasks.json"), strlen("a/.vscode"));
	cr_expect_eq(aj_protect_obeyed(items, 2, "a/.VSCode"), strlen("a/.vscode"));
	cr_expect_eq(aj_protect_obeyed(items, 2, "secret/x/y"), strlen("secret"));
	cr_expect_eq(aj_protect_obeyed(items, 2, "x/opencode.jsonc"), strlen("x/opencode.jsonc"));
	cr_expect_eq(aj_protect_obeyed(items, 2, ".envrc2"), 0);
	static const char *const above[] = { ".github", "a/.YARN", ".jj/repo", ".git/modules/x" }, *const others[] = {
		"github", ".envrc", "repo", ".jj/x", "a/secret"
	};
	for (size_t i = 0; i < sizeof above / sizeof *above; i++)
		cr_expect(aj_protect_above(items, 2, above[i]), "%s", above[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		cr_expect_not(aj_protect_above(items, 2, others[i]), "%s", others[i]);
	cr_expect(aj_protect_begins(items, 2, ".JJ") && aj_protect_begins(items, 2, "mise.x.toml") &&
	          aj_protect_begins(items, 2, "secret"));
	cr_expect_not(aj_protect_begins(items, 2, "repo"));
}

/* By a change's path, and one of the host that may lie in it. */
Test(changes, paths_in_a_repository)
{
	static const char *const in[] = { ".git",      ".git", ".git", ".git/x/y", "a/.GIT", "a/.GIT/x", "bare",
		                          "bare/HEAD", "bare", "bare", ".",        "refs/x", "/m/.git",  "/m/.git/any" };
	static const char *const out[] = { ".git", ".gitx",      ".git", "a/.git",   "bare",    "bare/src/HEAD",
		                           "bare", "barer/HEAD", ".",    "src/refs", "/m/.git", "m/.git" };
	for (size_t i = 0; i < sizeof in / sizeof *in; i += 2)
		cr_expect(aj_repository_holds(in[i], in[i + 1]), "%s %s", in[i], in[i + 1]);
	for (size_t i = 0; i < sizeof out / sizeof *out; i += 2)
		cr_expect_not(aj_repository_holds(out[i], out[i + 1]), "%s %s", out[i], out[i + 1]);
}

Test(changes, spellings)
{
	static const char *const pairs[] = { "a/.git",
		                             "a/.git",
		                             ".GIT./x ",
		                             ".GIT/x",
		                             "a:b/c\\d",
		                             "a/c",
		                             ".g\xe2\x80\x8cit",
		                             ".git",
		                             "hoo\xe2\x84\xaa\xc5\xbf",
		                             "hooks",
		                             "\xe2\x80\x8c/...",
		                             "\xe2\x80\x8c/...",
		                             ":x/\\y",
		                             ":x/\\y",
		                             "\xff.git",
		                             "\xff.git" };
	static const char *const shorts[] = { "GIT~1", "x/CONFIG~1.WOR/y", "A~12" };
	static const size_t bytes[] = { 5, 14, 4 };
	static const char *const others[] = { "git~", "~1", "a.~1~", "verylong~1", "a~1.long", "a~1b" };
	char room[40];
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i += 2)
		cr_expect_str_eq(aj_spelling_plain(pairs[i], room), pairs[i + 1]);
	for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
		cr_expect_eq(aj_spelling_short(shorts[i]), bytes[i], "%s", shorts[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		cr_expect_eq(aj_spelling_short(others[i]), 0, "%s", others[i]);
	cr_expect_eq(aj_spelling_count("a/bc/d", 4), 2);
	cr_expect_eq(aj_spelling_bytes("a/bc/d", 2), 4);
}

/* The place is told in the spelling that the change has. */
Test(changes, the_place_of_another_spelling)
{
	struct aj_change_state s = AJ_NO_CHANGE_STATE;
	struct aj_change c = { .path = "a./.v\xe2\x80\x8cscode /tasks.json", .is.st_mode = S_IFREG };
	aj_change_judge_approval(&c, &s);
	cr_assert_not_null(c.held);
	cr_expect_eq(c.held_bytes, strlen("a./.v\xe2\x80\x8cscode "));
}

static enum aj_selected select_one(const char *const *paths, size_t count, const struct aj_change *c)
{
	bool met[4] = { false };
	struct aj_selection s = { .paths = paths, .paths_count = count, .met = met };
	return aj_select(&s, c);
}

Test(changes, selection)
{
	static const char *const whole[] = { "." }, *const above[] = { "a" }, *const place[] = { "a/.vscode" },
				 *const other[] = { "ab" }, *const below[] = { "a/n/f" };
	struct aj_change plain = { .path = "a/x", .is.st_mode = S_IFREG },
			 held = { .path = "a/.vscode/t", .held = "h", .held_bytes = 9 },
			 folder = { .path = "a/n", .kind = AJ_CHANGE_ADDED, .is.st_mode = S_IFDIR };
	cr_expect_eq(select_one(NULL, 0, &plain), AJ_SELECTED);
	cr_expect_eq(select_one(NULL, 0, &held), AJ_SELECTED_WITHOUT_APPROVAL);
	cr_expect_eq(select_one(whole, 1, &plain), AJ_SELECTED);
	cr_expect_eq(select_one(whole, 1, &held), AJ_SELECTED_WITHOUT_APPROVAL);
	cr_expect_eq(select_one(above, 1, &held), AJ_SELECTED_WITHOUT_APPROVAL);
	cr_expect_eq(select_one(place, 1, &held), AJ_SELECTED);
	cr_expect_eq(select_one(other, 1, &plain), AJ_SELECTED_NOT);
	cr_expect_eq(select_one(below, 1, &folder), AJ_SELECTED);
	cr_expect_eq(select_one(below, 1, &plain), AJ_SELECTED_NOT);
}

/* --- trees --- */

static char root[40];

static void make_root(void)
{
	snprintf(root, sizeof root, "/tmp/aj-changes.XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
	cr_assert(mkdir("upper", 0755) == 0 && mkdir("work", 0755) == 0);
}

static void drop_root(void)
{
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
	cr_expect_eq(aj_tree_remove(tmp, root + 5), 0, "%s", strerror(errno));
	cr_expect(access(root, F_OK) < 0);
	close(tmp);
}

TestSuite(trees, .init = make_root, .fini = drop_root);

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	cr_assert_not_null(f, "%s", path);
	fputs(text, f);
	fclose(f);
}

enum { TEXT = AJ_CHANGES_DEPTH * AJ_CHANGES_DEPTH * 2 };

static int note(void *arg, const struct aj_change *c)
{
	static const char letters[] = "AMDTm";
	char *text = arg;
	size_t used = strlen(text);
	snprintf(text + used, TEXT - used, "%c%s%s %s\n", letters[c->kind], c->refused ? "!" : "", c->conflict ? "?" : "",
	         c->path);
	return 0;
}

static const char *walk(void)
{
	static char text[TEXT];
	struct aj_error err = { 0 };
	struct aj_change_state s = AJ_NO_CHANGE_STATE;
	s.view = open("upper", O_RDONLY | O_DIRECTORY);
	s.workspace = open("work", O_RDONLY | O_DIRECTORY);
	s.record = (struct aj_change_record){ .workspace = root, .started_ns = INT64_MAX };
	text[0] = '\0';
	cr_expect_eq(aj_changes_walk(&s, note, text, &err), 0, "%s", err.cause);
	aj_change_state_close(&s);
	return text;
}

Test(trees, whiteouts)
{
	put("work/a", "1");
	put("work/b", "1");
	cr_assert(mkdir("work/d", 0755) == 0 && mkdir("upper/d", 0755) == 0 && mkdir("work/o", 0755) == 0 &&
	          mkdir("upper/o", 0755) == 0);
	put("work/d/x", "1");
	put("work/d/y", "");
	put("work/o/gone", "1");
	put("work/o/same", "1");
	put("upper/o/same", "1");
	put("upper/d/x", "");
	put("upper/d/y", "");
	/* Whiteouts as devices, which anybody may make, and as files with an attribute, in a folder that says so. */
	if (mknod("upper/a", S_IFCHR, makedev(0, 0)) < 0 || setxattr("upper/o", "user.overlay.opaque", "y", 1, 0) < 0) {
		cr_skip_test("no whiteouts here: %s", strerror(errno));
		return;
	}
	cr_assert(setxattr("upper/d", "user.overlay.opaque", "x", 1, 0) == 0 &&
	          setxattr("upper/d/x", "user.overlay.whiteout", "y", 1, 0) == 0);
	cr_expect_str_eq(walk(), "D a\nD d/x\nD o/gone\n");
}

Test(trees, types_are_known_before_a_file_is_opened)
{
	put("work/f", "1");
	cr_assert(mkfifo("upper/f", 0644) == 0 && mkfifo("work/g", 0644) == 0 && mkfifo("upper/h", 0600) == 0 &&
	          symlink("/", "upper/l") == 0);
	put("upper/g", "1");
	cr_assert(symlink("loop", "work/loop") == 0);
	put("upper/loop", "1");
	cr_expect_str_eq(walk(), "T! f\nT g\nA! h\nA l\nT loop\n"); /* and no FIFO was waited for */
}

/* What was not found might name any of them. */
Test(trees, after_a_search_that_was_cut_every_change_is_held)
{
	struct aj_change_state state = AJ_NO_CHANGE_STATE;
	char name[32];
	cr_assert_eq(mkdir("searched", 0755), 0);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "searched/%d", i);
		put(name, "");
	}
	state.workspace = open("searched", O_PATH | O_DIRECTORY);
	state.record.workspace = aj_printf(&state.arena, "%s/searched", root);
	cr_expect(aj_change_reach(&state, 60000));
	cr_expect_eq(aj_change_reached(&state, "1"), 0);
	cr_expect_not(aj_change_reach(&state, 0));
	cr_expect_gt(aj_change_reached(&state, "1"), 0);
	/* Also after one that met more than it keeps. */
	cr_assert_eq(mkdir("searched/.git", 0755) | mkdir("searched/.git/hooks", 0755), 0);
	cr_expect(aj_change_reach(&state, 60000));
	cr_expect_eq(aj_change_reached(&state, "1"), 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "searched/.git/hooks/%d", i);
		put(name, "");
	}
	cr_expect_not(aj_change_reach(&state, 60000));
	cr_expect_gt(aj_change_reached(&state, "1"), 0);
	aj_arena_free(&state.arena);
	close(state.workspace);
}

Test(trees, a_deep_tree_is_refused_and_removed)
{
	cr_assert_eq(chdir("upper"), 0);
	for (int i = 0; i < 3000; i++)
		cr_assert(mkdir("d", 0755) == 0 && chdir("d") == 0);
	put("f", "1");
	cr_assert_eq(chdir(root), 0);
	const char *text = walk(), *refused = strchr(text, '!');
	cr_expect(strncmp(text, "A d\nA d/d\n", 10) == 0);
	cr_expect(refused && strlen(refused + 2) == 2 * (AJ_CHANGES_DEPTH + 1)); /* one line for all that is deeper */
	cr_assert_eq(chmod("upper/d/d", 0), 0);
}

Test(protect, other_places_of_programs_that_are_known)
{
	static const char *const items[] = { AJ_PROTECT_DEFAULT }, *const paths[] = {
		"mise/config.toml",     ".config/mise.toml", ".config/mise/config.toml", "a/.config/mise/conf.d/x.toml",
		".config/lefthook.yml", ".Renviron",         ".kilocode/mcp.json",
	};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		cr_expect_gt(aj_protect_obeyed(items, 1, paths[i]), 0, "%s", paths[i]);
	cr_expect_eq(aj_protect_obeyed(items, 1, ".config/other.toml"), 0);
}
