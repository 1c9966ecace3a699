/* `agentjail changes diff`: the changes as a patch. On a terminal it goes through the pager, coloured and with control
 * characters escaped; in a file or a pipe each byte is as it is. It leaves out what `git apply` must not bring unseen: held
 * changes that no PATH names, and repositories, whose history is not files. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/json/tree.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/changes/commits.h"
#include "cli/changes/paint.h"
#include "cli/terminal/guard.h"
#include "cli/terminal/pager.h"
#include "workspace/changes/apply_select.h"
#include "workspace/changes/patch.h"
#include "workspace/changes/walk.h"

enum { LISTED_MAX = 10000, COMMITS_MAX = 50 };

struct diff {
	const struct aj_changes_args *args;
	struct aj_change_state *state;
	struct aj_error *err;
	struct aj_buffer kept;  /* a patch for JSON */
	json_t *needs_approval; /* rows, for JSON */
	bool terminal;
	struct aj_paint paint;
	struct aj_commit_lists commits;
	size_t count, needs_approval_count, repository_count;
};

static void print_part(void *arg, const char *data, size_t bytes)
{
	struct diff *d = arg;
	if (d->args->json)
		aj_buffer_add(&d->kept, data, bytes);
	else if (d->terminal)
		aj_paint_put(&d->paint, data, bytes);
	else
		fwrite(data, 1, bytes, stdout);
}

static void print_json(struct diff *d, const struct aj_change *c)
{
	json_t *row = aj_change_json(c);
	bool text = aj_utf8_valid_prefix(d->kept.data, d->kept.bytes) == d->kept.bytes;
	if (d->kept.bytes)
		json_object_set_new(row, text ? "patch" : "patch_base64",
		                    text ? json_stringn(d->kept.data, d->kept.bytes)
		                         : aj_json_base64(d->kept.data, d->kept.bytes));
	fputs(d->count++ ? ",\n" : "\n", stdout);
	json_dumpf(row, stdout, JSON_COMPACT);
	json_decref(row);
	d->kept.bytes = 0;
}

/* The two reasons to leave a change out of the patch. */
static bool left_out(struct diff *d, const struct aj_change *c)
{
	bool named = false;
	for (size_t i = 0; i < d->args->paths_count; i++)
		named |= aj_select_names(d->args->paths[i], c);
	if (c->repository) {
		aj_commits_note(&d->commits, c);
		d->repository_count++;
		return !d->args->json;
	}
	if (!c->held || named)
		return false;
	if (d->needs_approval_count++ < LISTED_MAX && d->args->json)
		json_array_append_new(d->needs_approval, aj_change_json(c));
	return true;
}

static int on_change(void *arg, const struct aj_change *c)
{
	struct diff *d = arg;
	bool wanted = d->args->paths_count == 0;
	for (size_t i = 0; i < d->args->paths_count && !wanted; i++)
		wanted = aj_select_covers(d->args->paths[i], c->path);
	if (!wanted || c->refused || left_out(d, c))
		return 0;
	if (!c->repository && aj_patch(d->state, c, print_part, d, d->err) < 0)
		return -1;
	if (d->args->json)
		print_json(d, c);
	return d->paint.failed ? -1 : 0;
}

static void print_end(const struct diff *d)
{
	if (d->args->json) {
		printf("],\"held\":");
		json_dumpf(d->needs_approval, stdout, JSON_COMPACT);
		printf(",\"sum\":{\"held\":%zu}}\n", d->needs_approval_count);
		return;
	}
	fflush(stdout);
	if (d->needs_approval_count)
		fprintf(stderr, "%zu held: left out of the patch; name each, or the folder that holds it, to have it there too\n",
		        d->needs_approval_count);
	if (d->repository_count && !d->terminal)
		fprintf(stderr, "%zu git folder%s changed: no patch contains %s files\n", d->repository_count,
		        d->repository_count == 1 ? "" : "s", d->repository_count == 1 ? "its" : "their");
}

/* No patch has them: they follow it, for people. */
static void print_commits(struct diff *d)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = d->commits.repositories.count && !d->paint.failed ? open_memstream(&text, &bytes) : NULL;
	if (!to)
		return;
	aj_commits_print(&d->commits, d->state, COMMITS_MAX, to);
	fclose(to);
	aj_paint_put(&d->paint, text, bytes);
	free(text);
}

int aj_changes_diff(const struct aj_changes_args *args, struct aj_change_state *state, struct aj_error *err)
{
	struct diff d = { .args = args,
		          .state = state,
		          .err = err,
		          .terminal = !args->json && isatty(STDOUT_FILENO),
		          .needs_approval = json_array() };
	if (args->json)
		printf("{\"id\":\"%s\",\"changes\":[", state->id);
	struct aj_pager pager = { 0 };
	if (d.terminal) {
		aj_pager_begin(&pager);
		d.paint.colours = aj_colours_wanted();
	}
	int result = aj_changes_walk(state, on_change, &d, err);
	if (d.terminal) {
		print_commits(&d);
		aj_paint_end(&d.paint);
		aj_pager_end(&pager);
	}
	if (d.paint.failed) /* the person left the pager */
		result = 0;
	if (result == 0)
		print_end(&d);
	json_decref(d.needs_approval);
	aj_buffer_free(&d.kept);
	aj_commits_free(&d.commits);
	return result;
}
