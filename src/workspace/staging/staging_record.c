/* Writes the record of a run whose changes are staged.
 * A record is written completely or not at all; workspace/changes/run_record.c reads it. */
#include "workspace/staging/staging_record.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/json/tree.h"
#include "base/text.h"
#include "workspace/changes/run_record.h"

enum { WORDS_MAX = 500, WORD_BYTES = 1000 };

static json_t *words(char *const *argv)
{
	json_t *list = json_array();
	for (size_t i = 0; argv && argv[i] && i < WORDS_MAX; i++)
		json_array_append_new(list, aj_json_text(argv[i], strnlen(argv[i], WORD_BYTES)));
	return list;
}

static json_t *places(const struct aj_plan *plan)
{
	json_t *list = json_array();
	for (size_t i = 0; i < plan->protect.count; i++)
		json_array_append_new(list, aj_json_text(plan->protect.items[i], strlen(plan->protect.items[i])));
	return list;
}

static int write_text(int dir, const char *text)
{
	cleanup_fd int fd = aj_beneath_open_here(dir, "record.json.new", O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0 || fchmod(fd, 0600) < 0 || aj_write_all(fd, text, strlen(text)) < 0 || aj_write_all(fd, "\n", 1) < 0)
		return -1;
	return renameat(dir, "record.json.new", dir, "record.json");
}

static bool is_utf8(const char *path)
{
	return aj_utf8_valid_prefix(path, strlen(path)) == strlen(path);
}

int aj_staging_record_write(const struct aj_plan *plan, const struct aj_staging_record *record, int dir, const char *id,
                            struct aj_error *err)
{
	if (!is_utf8(record->workspace) || (record->repository && (!is_utf8(record->repository) || !is_utf8(plan->worktree)))) {
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0,
		        "the path of the %s is not UTF-8, so its changes could not be applied later",
		        is_utf8(record->workspace) ? "main repository" : "workspace");
		aj_advise(err, "use --workspace-mode rw, or rename the folder");
		return -1;
	}
	json_t *doc = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:o, s:I, s:I, s:o}", "version", 1, "id", id, "mode",
	                        aj_changes_mode_name(record->copy, record->direct), "workspace", record->workspace, "seen_at",
	                        plan->workspace_at, "policy", aj_json_text(plan->policy_name, strlen(plan->policy_name)),
	                        "command", words(plan->argv), "started_ns", (json_int_t)record->started_ns, "ended_ns",
	                        record->ended_ns ? json_integer(record->ended_ns) : json_null(), "device",
	                        (json_int_t)record->device, "inode", (json_int_t)record->inode, "protected", places(plan));
	if (is_utf8(record->head))
		json_object_set_new(doc, "head", json_string(record->head));
	json_object_update_new(doc, json_pack("{s:I, s:I, s:I}", "git_pack", (json_int_t)plan->git_bytes, "git_objects",
	                                      (json_int_t)plan->git_objects, "git_ms", (json_int_t)plan->git_ms));
	if (record->repository)
		json_object_update_new(doc, json_pack("{s:s, s:s, s:I, s:I, s:I}", "repository", record->repository, "worktree",
		                                      plan->worktree, "repository_device", (json_int_t)record->repository_device,
		                                      "repository_inode", (json_int_t)record->repository_inode, "worktree_inode",
		                                      (json_int_t)record->worktree_inode));
	char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
	json_decref(doc);
	int r = text ? write_text(dir, text) : -1;
	if (r < 0)
		aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "write the record of the run to the state directory");
	free(text);
	return r;
}
