/* The question at the end of a run at a terminal: take the changes into the workspace, all or some, look at them, forget them,
 * or keep them. No process of the jail is left. Its command saw the keys that its person typed, and chose when it ended: so what
 * was typed before the question is dropped, and an answer that does something has the question's number. Anything else keeps the
 * changes. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/changes/answer.h"
#include "cli/changes/commits.h"
#include "cli/changes/fold.h"
#include "cli/changes/pick.h"
#include "cli/command.h"
#include "workspace/changes/approval_reached.h"

enum { TRIES = 3, FIRST_NUMBER = 10, NUMBERS = 90, LISTED_MAX = 20, COMMITS_MAX = 5, REACH_MS = 5000 };
enum answer { NONE, APPLY, PICK, DIFF, KEEP, DISCARD };

/* --- an answer --- */

static enum answer find_answer(const char *line, unsigned number)
{
	static const struct {
		const char *words[2];
		enum answer answer;
		bool numbered;
	} rows[] = { { { "y", "yes" }, APPLY, true },
		     { { "p", "pick" }, PICK, true },
		     { { "d", "diff" }, DIFF, false },
		     { { "k", "keep" }, KEEP, false },
		     { { "x", "discard" }, DISCARD, true } };
	char full[32];
	if (!*line)
		return KEEP;
	for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
		const char *word = rows[i / 2].words[i % 2];
		snprintf(full, sizeof full, "%s %u", word, number);
		if (strcmp(line, full) == 0 || (!rows[i / 2].numbered && strcmp(line, word) == 0))
			return rows[i / 2].answer;
	}
	return NONE;
}

/* --- the question --- */

struct list {
	size_t rows;
	struct aj_tally tally;
	struct aj_commit_lists commits;
};

static int list_row(void *arg, const struct aj_change_row *row)
{
	struct list *l = arg;
	aj_tally_join(&l->tally, &row->tally);
	if (row->change)
		aj_commits_note(&l->commits, row->change);
	if (l->rows++ < LISTED_MAX)
		aj_change_row_print(row, stderr);
	return 0;
}

/* What is asked about. An error is shown again by the answer that meets it. */
static void print_list(const char *id)
{
	struct aj_change_state state = AJ_NO_CHANGE_STATE;
	struct aj_changes_args args = { 0 };
	struct aj_error ignored = { 0 };
	struct list list = { 0 };
	char files[64];
	cleanup_fd int all = aj_changes_folder(false);
	if (all >= 0 && aj_change_state_open(all, id, &state, &ignored) == 0 && aj_change_state_trees(&state, &ignored) == 0) {
		aj_change_reach(&state, REACH_MS);
		fputc('\n', stderr);
		aj_changes_rows(&args, &state, AJ_FOLD_ALL, list_row, &list, &ignored);
		if (list.rows > LISTED_MAX)
			fprintf(stderr, "and %zu more lines of `agentjail changes show %s`\n", list.rows - LISTED_MAX, id);
		aj_commits_print(&list.commits, &state, COMMITS_MAX, stderr);
		fputs(list.commits.repositories.count ? "\n" : "", stderr);
		fputs(aj_tally_text(&list.tally, files), stderr);
		aj_tally_print_kinds(&list.tally, stderr);
		fputc('\n', stderr);
	}
	aj_commits_free(&list.commits);
	aj_change_state_close(&state);
}

static bool pose(const char *folder, const char *repository, unsigned *number)
{
	unsigned random;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return false;
	*number = FIRST_NUMBER + random % NUMBERS;
	fputs("\nagentjail: apply these changes to `", stderr);
	aj_path_print(folder, stderr);
	if (repository) {
		fputs("` and `", stderr);
		aj_path_print(repository, stderr);
	}
	fputs("`?\n", stderr);
	/* The terminal has the question before it gets the words of an answer. */
	if (!aj_answers_drop_typed())
		return false;
	fprintf(stderr,
	        "  y %u: yes, p %u: pick files, d: show the diff, Enter: keep them for later, x %u: discard them: ", *number,
	        *number, *number);
	return true;
}

static void act(const char *verb, const char *id)
{
	char *argv[] = { (char *)(uintptr_t) "changes", (char *)(uintptr_t)verb, (char *)(uintptr_t)id, NULL };
	aj_cmd_changes(3, argv);
	fflush(stdout);
}

/* What is left to do after the answer; NONE: nothing. */
static enum answer ask(const char *id, const char *folder, const char *repository, const struct aj_answers *answers)
{
	unsigned number;
	char line[80];
	for (int tries = 0; tries < TRIES && pose(folder, repository, &number);) {
		if (!aj_answers_read(answers, line, sizeof line)) {
			fputc('\n', stderr);
			break;
		}
		enum answer answer = find_answer(line, number);
		if (answer == DIFF)
			act("diff", id);
		else if (answer == PICK && aj_changes_pick(id, answers))
			return NONE;
		else if (answer != NONE && answer != PICK)
			return answer;
		tries += answer == NONE;
	}
	return KEEP;
}

void aj_changes_ask(const char *id, const char *folder, const char *repository)
{
	struct aj_answers answers;
	/* The command's output may have gone to a file: what follows is for the person. */
	cleanup_fd int output = isatty(STDOUT_FILENO) ? -1 : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
	fflush(stdout);
	if (output >= 0)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	print_list(id);
	aj_answers_begin(&answers);
	enum answer answer = ask(id, folder, repository, &answers);
	aj_answers_end(&answers);
	if (answer == APPLY || answer == DISCARD)
		act(answer == APPLY ? "apply" : "discard", id);
	else if (answer == KEEP)
		fprintf(stderr,
		        "agentjail: kept: `agentjail changes apply %s` takes them, and the next run with this policy continues with them\n",
		        id);
	fflush(stdout);
	if (output >= 0)
		dup2(output, STDOUT_FILENO);
}
