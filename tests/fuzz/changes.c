/* Fuzzes what the state folder of a run holds: the first byte chooses a record, a line of a copy's list, a path in a main repository, or a
 * step of a journal. It opens no file. Beyond not crashing: no path that is read leads upwards, a step that is read and written is read the
 * same, and no rule of a main repository is without a reason, or makes a part of what is no plain file or folder. */
#include <string.h>

#include "must.h"
#include "policy/protected_places.h"
#include "workspace/changes/apply_journal.h"
#include "workspace/changes/approval_spelling.h"
#include "workspace/changes/copied_files.h"
#include "workspace/changes/main_rules.h"
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

/* The first two bytes are the kind of the change and its type. */
static void main_path(const char *text, size_t bytes)
{
	static const mode_t types[] = { 0, S_IFREG | 0644, S_IFDIR | 0755, S_IFLNK | 0777, S_IFIFO | 0600 };
	char path[4096];
	if (bytes < 3 || bytes >= sizeof path || memchr(text, '\0', bytes))
		return;
	memcpy(path, text + 2, bytes - 2);
	path[bytes - 2] = '\0';
	struct aj_change c = { .path = path, .kind = (unsigned char)text[0] % AJ_CHANGE_KINDS };
	c.is.st_mode = c.kind == AJ_CHANGE_DELETED ? 0 : types[1 + (unsigned char)text[1] % 4];
	c.was.st_mode = c.kind == AJ_CHANGE_ADDED ? 0 : types[1 + (unsigned char)text[1] / 4 % 4];
	struct aj_main_rule r = aj_main_rule(path, "ws", &c);
	must_of((r.verdict == AJ_MAIN_PART) == !r.why, "what is no part has a reason", path);
	must_of(r.verdict != AJ_MAIN_HELD || (r.held_bytes && r.held_bytes <= strlen(path)), "a held place is a part of the path", path);
	bool inside = r.verdict == AJ_MAIN_PART || r.verdict == AJ_MAIN_HOLDS;
	must_of(!inside || !c.is.st_mode || S_ISREG(c.is.st_mode) || S_ISDIR(c.is.st_mode), "a part is a file or a folder", path);
	must_of(!inside || c.kind != AJ_CHANGE_DELETED || r.content != AJ_MAIN_OBJECT, "no object is deleted", path);
	must_of(!inside || !strstr(path, "config") || strncmp(path, "refs/", 5) == 0 || strstr(path, "logs/refs/") || strstr(path, "refs/"),
	        "no configuration is a part", path);
	if (aj_main_ref_valid(path))
		plain(path);
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
	else if (data[0] == 'M')
		main_path(text, bytes - 1);
	else
		step(text, bytes - 1);
	return 0;
}
