/* Collects changes in batches, asks git of the host which of them it ignores, and folds those by folder. Memory is bounded by a
 * batch and by the folders on one path. */
#include "cli/changes/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cli/changes/ignored.h"
#include "workspace/changes/apply_select.h"
#include "workspace/changes/walk.h"

enum { BATCH = 2000, BATCH_BYTES = 256 << 10 };

/* A change with text of its own. */
struct kept_change {
	struct aj_change change;
	enum { ASKED, BELOW_IGNORED, NOT_IGNORED } answer; /* below: a folder above is ignored, and the host has no such file */
	size_t asked;                                      /* its place among the questions */
};

/* A row that is not complete: later changes may belong to it. */
struct open_fold {
	struct aj_change_row row;
	struct aj_change first;
};

struct folding {
	const struct aj_changes_args *args;
	struct aj_host_repository repository;
	enum aj_fold fold;
	aj_change_row_fn *each;
	void *arg;
	struct aj_arena own;   /* lives as long as the walk */
	struct aj_arena batch; /* until the batch is given out */
	AJ_LIST(struct kept_change) changes;
	AJ_LIST(const char *) questions; /* paths for git: the folders above a change, then the change */
	const char **answers;
	size_t bytes;
	char *above;          /* the folder of the last question for a folder, with a slash at its end; malloced */
	char *ignored_folder; /* the outermost ignored folder of the change that came last, with a slash; malloced; NULL: none */
	struct aj_arena folds_arena;
	AJ_LIST(struct open_fold) folds;
};

/* The reasons are texts of the walk's, and live longer. */
static struct aj_change copy_change(const struct aj_change *c, struct aj_arena *arena)
{
	struct aj_change copy = *c;
	copy.path = aj_strdup(arena, c->path);
	copy.note = c->note ? aj_strdup(arena, c->note) : NULL;
	return copy;
}

static void set_text(char **to, const char *text, size_t bytes)
{
	free(*to);
	*to = text ? strndup(text, bytes) : NULL;
	if (text && !*to)
		abort();
}

/* --- rows --- */

static int give(struct folding *f, const struct aj_change_row *row)
{
	return f->each(f->arg, row);
}

static int give_change(struct folding *f, const struct aj_change *c, bool ignored)
{
	struct aj_change_row row = { .change = c, .ignored = ignored };
	aj_tally_add(&row.tally, c);
	return give(f, &row);
}

static bool covers(const struct open_fold *fold, const char *path)
{
	return strcmp(fold->row.folder, ".") == 0 ? path[0] != '/' : aj_path_within(path, fold->row.folder);
}

/* Give out the rows of folders that the walk has left; all where `path` is NULL. A row of one change is that change. */
static int close_folds(struct folding *f, const char *path)
{
	int result = 0;
	size_t left = 0;
	for (size_t i = 0; i < f->folds.count && result == 0; i++) {
		struct open_fold *fold = &f->folds.items[i];
		if (path && covers(fold, path))
			f->folds.items[left++] = *fold;
		else if (fold->row.tally.files + fold->row.tally.folders > 1)
			result = give(f, &fold->row);
		else
			result = give_change(f, &fold->first, true);
	}
	if (!left) {
		aj_arena_free(&f->folds_arena);
		f->folds.items = NULL;
		f->folds.room = 0;
	}
	f->folds.count = left;
	return result;
}

static struct open_fold *find_fold(struct folding *f, const char *folder, const char *rule)
{
	for (size_t i = 0; i < f->folds.count; i++) {
		struct open_fold *fold = &f->folds.items[i];
		if (strcmp(fold->row.folder, folder) == 0 &&
		    (rule ? fold->row.rule && strcmp(rule, fold->row.rule) == 0 : !fold->row.rule))
			return fold;
	}
	struct open_fold *fold = AJ_PUSH(&f->folds_arena, &f->folds);
	fold->row = (struct aj_change_row){ .ignored = true,
		                            .folder = aj_strdup(&f->folds_arena, folder),
		                            .rule = rule ? aj_strdup(&f->folds_arena, rule) : NULL };
	return fold;
}

/* Does the rule name this very file, like `.env`? Such a file is no build output. */
static bool names_file(const char *rule, const char *name)
{
	const char *slash = strrchr(rule, '/');
	return strcmp(slash ? slash + 1 : rule, name) == 0;
}

static int give_ignored(struct folding *f, const struct aj_change *c, const char *rule)
{
	const char *slash = strrchr(c->path, '/');
	const char *folder = f->ignored_folder ? aj_strndup(&f->batch, f->ignored_folder, strlen(f->ignored_folder) - 1)
	                   : slash             ? aj_strndup(&f->batch, c->path, (size_t)(slash - c->path))
	                                       : ".";
	if (!f->ignored_folder && (f->fold < AJ_FOLD_ALL || names_file(rule, slash ? slash + 1 : c->path)))
		return give_change(f, c, true);
	struct open_fold *fold = find_fold(f, folder, f->ignored_folder ? NULL : rule);
	if (fold->row.tally.files + fold->row.tally.folders == 0)
		fold->first = copy_change(c, &f->folds_arena);
	aj_tally_add(&fold->row.tally, c);
	fold->row.bytes += S_ISREG(c->is.st_mode) ? (uint64_t)c->is.st_size : 0;
	return 0;
}

/* --- a batch --- */

/* The outermost ignored folder of a path. The folders above it are questions whose answers come before its own. */
static void learn_folder(struct folding *f, const struct kept_change *k, size_t from)
{
	if (f->ignored_folder && strncmp(k->change.path, f->ignored_folder, strlen(f->ignored_folder)) != 0)
		set_text(&f->ignored_folder, NULL, 0);
	for (size_t i = from; i <= k->asked && !f->ignored_folder; i++) {
		size_t bytes = strlen(f->questions.items[i]);
		if (f->answers[i] && f->questions.items[i][bytes - 1] == '/')
			set_text(&f->ignored_folder, f->questions.items[i], bytes);
	}
}

static int give_batch(struct folding *f)
{
	int result = 0;
	size_t from = 0;
	f->answers = aj_alloc(&f->batch, (f->questions.count + 1) * sizeof *f->answers);
	if (f->questions.count)
		aj_ignored(&f->repository, f->questions.items, f->questions.count, f->answers, &f->batch);
	for (size_t i = 0; i < f->changes.count && result == 0; i++) {
		const struct kept_change *k = &f->changes.items[i];
		const struct aj_change *c = &k->change;
		const char *rule = k->answer == BELOW_IGNORED ? "" : NULL;
		if (k->answer == ASKED) {
			learn_folder(f, k, from);
			from = k->asked + 1;
			rule = f->answers[k->asked];
		}
		result = close_folds(f, c->path);
		if (result == 0)
			result = rule && f->fold && !c->conflict && !c->held && !c->refused ? give_ignored(f, c, rule)
			                                                                    : give_change(f, c, rule != NULL);
	}
	aj_arena_free(&f->batch);
	f->changes.items = NULL;
	f->changes.count = f->changes.room = f->questions.count = f->questions.room = f->bytes = 0;
	f->questions.items = NULL;
	return result;
}

static void add_question(struct folding *f, const char *path, size_t bytes, bool folder)
{
	*AJ_PUSH(&f->batch, &f->questions) = aj_printf(&f->batch, "%.*s%s", (int)bytes, path, folder ? "/" : "");
	f->bytes += bytes;
}

static void add_questions(struct folding *f, struct kept_change *k)
{
	const char *path = k->change.path;
	size_t same = 0;
	/* An absolute path is that of a main repository. */
	k->answer = !f->repository.git || path[0] == '/' ? NOT_IGNORED : ASKED;
	if (k->answer == ASKED && f->ignored_folder && !k->change.was.st_mode &&
	    strncmp(path, f->ignored_folder, strlen(f->ignored_folder)) == 0)
		k->answer = BELOW_IGNORED;
	if (k->answer != ASKED)
		return;
	while (f->above && f->above[same] && f->above[same] == path[same])
		same++;
	for (const char *slash = strchr(path, '/'); slash && slash > path; slash = strchr(slash + 1, '/'))
		if ((size_t)(slash - path) >= same)
			add_question(f, path, (size_t)(slash - path), true);
	const char *last = strrchr(path, '/');
	set_text(&f->above, path, last ? (size_t)(last - path) + 1 : 0);
	k->asked = f->questions.count;
	add_question(f, path, strlen(path), S_ISDIR(k->change.is.st_mode ? k->change.is.st_mode : k->change.was.st_mode));
}

static int on_change(void *arg, const struct aj_change *c)
{
	struct folding *f = arg;
	bool wanted = f->args->paths_count == 0;
	for (size_t i = 0; i < f->args->paths_count && !wanted; i++)
		wanted = aj_select_covers(f->args->paths[i], c->path);
	if (!wanted)
		return 0;
	struct kept_change *k = AJ_PUSH(&f->batch, &f->changes);
	k->change = copy_change(c, &f->batch);
	add_questions(f, k);
	return f->changes.count < BATCH && f->bytes < BATCH_BYTES ? 0 : give_batch(f);
}

int aj_changes_rows(const struct aj_changes_args *args, struct aj_change_state *state, enum aj_fold fold, aj_change_row_fn *each,
                    void *arg, struct aj_error *err)
{
	struct folding f = { .args = args, .fold = fold, .each = each, .arg = arg };
	aj_host_repository_find(&state->record, &f.own, &f.repository);
	int result = aj_changes_walk(state, on_change, &f, err);
	if (result == 0)
		result = give_batch(&f);
	if (result == 0)
		result = close_folds(&f, NULL);
	free(f.above);
	free(f.ignored_folder);
	aj_arena_free(&f.folds_arena);
	aj_arena_free(&f.batch);
	aj_arena_free(&f.own);
	return result;
}

void aj_change_row_print(const struct aj_change_row *row, FILE *out)
{
	char files[64], size[32];
	if (row->change) {
		aj_change_print(row->change, row->ignored, out);
		return;
	}
	fputs("i  ", out);
	aj_path_print(row->folder, out);
	fprintf(out, "/  %s that git ignores", aj_tally_text(&row->tally, files));
	if (row->rule) {
		fputs(" by ", out);
		aj_path_print(row->rule, out);
	}
	aj_tally_print_kinds(&row->tally, out);
	fprintf(out, ", %s\n", aj_size_text(row->bytes, size));
}
