/* The block at the end of a run, from one table; and the file that --report names.
 * Each row's own function decides whether the row is printed. */
#include "cli/terminal/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/show.h"
#include "cli/terminal/summary.h"

static void calls(FILE *out, const struct aj_report *r)
{
	if (r->result->status != AJ_STATUS_OK) /* a call that a library tries and does without is no news */
		aj_show_refusals(out, r->result);
}

static void limits(FILE *out, const struct aj_report *r)
{
	aj_show_limits(out, r->result);
}

static void hosts(FILE *out, const struct aj_report *r)
{
	aj_show_network(out, &r->result->network);
}

static void terminal(FILE *out, const struct aj_report *r)
{
	aj_show_escapes(out, r->result->escapes, r->result->status != AJ_STATUS_OK);
}

static void workspace(FILE *out, const struct aj_report *r)
{
	aj_show_workspace(out, r->result->workspace, NULL);
}

static void changes(FILE *out, const struct aj_report *r)
{
	aj_show_changes(out, r->result->changes);
}

static void files(FILE *out, const struct aj_report *r)
{
	aj_show_files(out, r->result, r->files_to);
}

/* In the order in which they are printed. */
static void (*const rows[])(FILE *out, const struct aj_report *report) = { calls,     limits,  hosts, terminal,
	                                                                   workspace, changes, files };

void aj_report_print(FILE *out, const struct aj_report *report)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		rows[i](out, report);
}

FILE *aj_report_open(const char *path, struct aj_error *err)
{
	struct stat st;
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		errno = EINVAL;
		aj_close(&fd);
	}
	FILE *file = fd >= 0 && aj_fd_move_high(&fd) == 0 ? fdopen(fd, "w") : NULL;
	if (!file) {
		aj_fail(err, AJ_EXIT_USAGE, "report", errno, "write `%s`", path);
		aj_advise(err, "name a regular file in a folder that you can write");
		aj_close(&fd);
	}
	return file;
}

static void print_markdown(FILE *out, const struct aj_report *r)
{
	struct aj_arena arena = { 0 };
	const struct aj_result *result = r->result;
	fprintf(out, "# agentjail: %s\n\n", aj_status_name(result->status));
	fprintf(out, "| | |\n|---|---|\n| run | `%s` |\n| policy | `%s` |\n", aj_line(&arena, r->request->id),
	        aj_line(&arena, r->plan->policy_name));
	fprintf(out, "| reason | %s |\n| wall clock | %lu ms |\n", aj_line(&arena, result->reason), result->wall_us / 1000);
	for (size_t i = 0; i < result->limits_hit_count; i++)
		fprintf(out, "| limit hit | %s |\n", result->limits_hit[i]);
	fprintf(out, "\n```\n");
	aj_report_print(out, r);
	fprintf(out, "```\n");
	aj_arena_free(&arena);
}

int aj_report_write(FILE *file, const char *path, const struct aj_report *r)
{
	size_t length = strlen(path);
	int bad = ftruncate(fileno(file), 0);
	if (length > 3 && strcmp(path + length - 3, ".md") == 0)
		print_markdown(file, r);
	else
		bad |= aj_show_json(aj_result_json(r->result, r->plan, r->policy, r->request), file);
	bad |= ferror(file);
	return fclose(file) != 0 || bad ? -1 : 0;
}
