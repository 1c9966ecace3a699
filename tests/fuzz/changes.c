/* Fuzzes what the state folder of a run holds: the first byte chooses a record, a line of a copy's list, or a
 * step of a journal. It opens no file. Beyond not crashing: no path that is read leads upwards, and a step that is read and written is read
 * the same. */
#include <string.h>

#include "must.h"
#include "policy/protected_places.h"
#include "workspace/changes/apply_journal.h"
#include "workspace/changes/approval_spelling.h"
#include "workspace/changes/copied_files.h"
#include "workspace/changes/needs_approval.h"
#include "workspace/changes/run_record.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);

static void plain(const char *path)
{
	must_of(*path && *path != '/' && path[strlen(path) - 1] != '/', "a path is relative and names something", path);
	for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/') {
		size_t part = strcspn(at, "/");
		must_of(part > 0 && !(part == 1 && *at == '.') && !(part == 2 && strncmp(at, "..", 2) == 0),
		        "and has no empty part, `.` or `..`", path);
	}
}

static void record(const char *text, size_t bytes)
{
	struct aj_arena arena = { 0 };
	struct aj_error err = { 0 };
	struct aj_change_record r;
	if (aj_change_record_read(text, bytes, &arena, &r, &err) == 0) {
		must(r.workspace[0] == '/' && r.started_ns > 0 && r.inode, "a record has a workspace and a time");
		plain(r.workspace + 1);
		if (*r.repository) {
			must(r.repository[0] == '/' && r.repository_inode && r.worktree_inode, "a main repository has a path and an inode");
			plain(r.repository + 1);
			plain(r.worktree);
			must_of(!strchr(r.worktree, '/'), "a worktree has a name", r.worktree);
		}
		for (size_t i = 0; i < r.protect_count; i++)
			must(aj_protect_obeyed(r.protect, r.protect_count, r.protect[i]) <= strlen(r.protect[i]),
			     "a place is no longer than its path");
	} else {
		must(err.exit_code && err.cause[0], "what is refused has a reason");
	}
	aj_arena_free(&arena);
}

static void line(const char *text, size_t bytes)
{
	static char path[1 << 16];
	struct aj_base_entry e;
	if (bytes < sizeof path && aj_base_line(text, bytes, &e, path))
		must_of(strlen(path) < bytes && strchr("fdl", e.type), "a path is a part of its line", path);
}

static void spelling(const char *path)
{
	static char room[1 << 16];
	if (strlen(path) >= sizeof room)
		return;
	const char *same = aj_spelling_plain(path, room);
	must_of(strlen(same) <= strlen(path), "a plain spelling is not longer", path);
	must_of(aj_spelling_count(same, strlen(same)) == aj_spelling_count(path, strlen(path)), "and has as many names", path);
	must_of(aj_spelling_bytes(path, aj_spelling_count(path, strlen(path))) == strlen(path), "which are all of it", path);
}

static void step(const char *text, size_t bytes)
{
	struct aj_apply_step s, again;
	struct aj_buffer out = { 0 };
	if (!aj_step_read(text, bytes, &s))
		return;
	if (s.op == AJ_STEP_MOVE) {
		static char room[AJ_STEP_BYTES];
		struct aj_git_move move;
		must(aj_git_move_read(&s, room, &move), "a move is read with its step");
		const char *const folders[] = { move.git, *move.tree ? move.tree : "." };
		for (size_t i = 0; i < 2; i++)
			if (strcmp(folders[i], ".") != 0)
				plain(folders[i] + (folders[i][0] == '/'));
		return;
	}
	if (s.op != AJ_STEP_SETTLE || strcmp(s.path, ".") != 0)
		plain(s.path + (s.path[0] == '/'));
	aj_step_write(&out, &s);
	must(aj_step_read(out.data, out.bytes, &again), "what is written is read");
	must(again.op == s.op && again.pass == s.pass && again.number == s.number && again.mode == s.mode && again.was_mode == s.was_mode &&
	         again.ino == s.ino && again.bytes == s.bytes && again.mtime_ns == s.mtime_ns && strcmp(again.path, s.path) == 0,
	     "as the same");
	aj_link_leads_out(s.path, s.path, "/w");
	spelling(s.path);
	aj_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
	if (bytes == 0)
		return 0;
	const char *text = (const char *)data + 1;
	if (data[0] == 'R')
		record(text, bytes - 1);
	else if (data[0] == 'L')
		line(text, bytes - 1);
	else
		step(text, bytes - 1);
	return 0;
}
