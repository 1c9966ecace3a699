/* Reads the record of a run: a small JSON object that the run's supervisor wrote.
 * It opens no file, and accepts only absolute, plain paths. */
#include "workspace/changes/run_record.h"

#include <string.h>

#include "base/json/scan.h"
#include "base/json/tree.h"
#include "base/path.h"

enum { VALUES_MAX = 20000 };

static int fail(struct aj_error *err, const char *why)
{
	return aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "the record of the run cannot be used: %s", why);
}

bool aj_changes_id_valid(const char *id)
{
	size_t bytes = strlen(id);
	return bytes > 0 && bytes < AJ_CHANGES_ID && id[0] != '.' &&
	       strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") == bytes;
}

bool aj_change_is_main(const struct aj_change_record *record, const char *git)
{
	return *record->repository && strcmp(git, record->repository) == 0;
}

const char *aj_changes_mode_name(bool copy, bool direct)
{
	return direct ? "rw" : copy ? "copy" : "overlay";
}

static bool plain_absolute(const char *path)
{
	if (path[0] != '/')
		return false;
	for (const char *at = path + 1; *at; at += strcspn(at, "/"), at += *at == '/')
		if (!aj_path_part_valid(at, strcspn(at, "/")))
			return false;
	return path[1] != '\0' && path[strlen(path) - 1] != '/';
}

static const char *text_of(json_t *record, const char *name, struct aj_arena *arena)
{
	const char *text = json_string_value(json_object_get(record, name));
	return text ? aj_strdup(arena, text) : "";
}

/* The words of a command, for people. */
static const char *words_of(json_t *list, struct aj_arena *arena)
{
	const char *words = "";
	size_t i;
	json_t *word;
	if (json_is_string(list))
		return aj_strdup(arena, json_string_value(list));
	json_array_foreach(list, i, word) {
		if (i == 32)
			return aj_printf(arena, "%s ...", words);
		words = aj_printf(arena, "%s%s%.200s", words, i ? " " : "", json_is_string(word) ? json_string_value(word) : "?");
	}
	return words;
}

static const char *read_protect(json_t *list, struct aj_arena *arena, struct aj_change_record *ret)
{
	size_t count = json_array_size(list);
	const char **items = aj_alloc(arena, (count + 1) * sizeof *items);
	for (size_t i = 0; i < count; i++) {
		const char *item = json_string_value(json_array_get(list, i));
		if (!item || !*item)
			return "`protected` is not a list of places";
		items[i] = aj_strdup(arena, item);
	}
	ret->protect = items;
	ret->protect_count = count;
	return NULL;
}

/* The main repository of a linked worktree. Without `repository` the run had no view of it. */
static const char *read_repository(json_t *record, struct aj_arena *arena, struct aj_change_record *ret)
{
	ret->repository = text_of(record, "repository", arena);
	ret->worktree = text_of(record, "worktree", arena);
	ret->repository_device = (uint64_t)json_integer_value(json_object_get(record, "repository_device"));
	ret->repository_inode = (uint64_t)json_integer_value(json_object_get(record, "repository_inode"));
	ret->worktree_inode = (uint64_t)json_integer_value(json_object_get(record, "worktree_inode"));
	if (!*ret->repository)
		return ret->direct ? "`repository` is missing" : NULL;
	if (!plain_absolute(ret->repository) || aj_path_within(ret->repository, ret->workspace) ||
	    aj_path_within(ret->workspace, ret->repository))
		return "`repository` is not a plain absolute path outside the workspace";
	if (!aj_path_part_valid(ret->worktree, strlen(ret->worktree)) || strchr(ret->worktree, '/'))
		return "`worktree` is not a name";
	return ret->repository_inode && ret->worktree_inode ? NULL : "`repository_inode` or `worktree_inode` is missing";
}

static const char *read_members(json_t *record, struct aj_arena *arena, struct aj_change_record *ret)
{
	const char *mode = json_string_value(json_object_get(record, "mode"));
	json_int_t started = json_integer_value(json_object_get(record, "started_ns"));
	if (!json_is_object(record) || json_integer_value(json_object_get(record, "version")) != 1)
		return "it is not a record of version 1";
	if (aj_json_has_nul(record))
		return "a text in it holds a NUL";
	if (!mode || (strcmp(mode, "overlay") != 0 && strcmp(mode, "copy") != 0 && strcmp(mode, "rw") != 0))
		return "`mode` is none of overlay, copy and rw";
	if (started <= 0)
		return "`started_ns` is not a time";
	*ret = (struct aj_change_record){
		.copy = strcmp(mode, "copy") == 0,
		.direct = strcmp(mode, "rw") == 0,
		.workspace = text_of(record, "workspace", arena),
		.seen_at = text_of(record, "seen_at", arena),
		.policy = text_of(record, "policy", arena),
		.command = words_of(json_object_get(record, "command"), arena),
		.started_ns = started,
		.ended_ns = json_integer_value(json_object_get(record, "ended_ns")),
		.device = (uint64_t)json_integer_value(json_object_get(record, "device")),
		.inode = (uint64_t)json_integer_value(json_object_get(record, "inode")),
	};
	ret->head = text_of(record, "head", arena);
	ret->git_bytes = (uint64_t)json_integer_value(json_object_get(record, "git_pack"));
	ret->git_objects = (uint64_t)json_integer_value(json_object_get(record, "git_objects"));
	ret->git_ms = (uint64_t)json_integer_value(json_object_get(record, "git_ms"));
	if (!plain_absolute(ret->workspace))
		return "`workspace` is not a plain absolute path";
	if (!ret->inode)
		return "`inode` is missing";
	const char *why = read_repository(record, arena, ret);
	return why ? why : read_protect(json_object_get(record, "protected"), arena, ret);
}

int aj_change_record_read(const char *text, size_t bytes, struct aj_arena *arena, struct aj_change_record *ret,
                          struct aj_error *err)
{
	struct aj_scan scan = { .max_values = VALUES_MAX };
	const char *why = bytes > AJ_RECORD_BYTES ? "it is too large" : aj_scan_feed(&scan, text, bytes);
	why = why ? why : aj_scan_end(&scan);
	json_t *record = why ? NULL : aj_json_read(text, bytes, &why);
	if (record)
		why = read_members(record, arena, ret);
	json_decref(record);
	return why ? fail(err, why) : 0;
}
