/* Prints findings about policies, one or two lines each, file:line:column first.
 * It decides nothing: the caller decides whether a finding ends the program. */
#include "cli/terminal/findings.h"

#include <string.h>

#include "base/text.h"
#include "cli/terminal/guard.h"

const char *aj_line(struct aj_arena *arena, const char *text)
{
	size_t bytes = strlen(text), used = 0;
	char *safe = aj_alloc(arena, 4 * bytes + 1), *line = aj_alloc(arena, 16 * bytes + 1);
	safe[aj_printable(safe, text, bytes)] = '\0';
	for (const char *c = safe; *c; c++) {
		if (*c != '\n' && *c != '\t') {
			line[used++] = *c;
			continue;
		}
		memcpy(line + used, *c == '\n' ? "\\n" : "\\t", 2);
		used += 2;
	}
	return line;
}

static void put_line(struct aj_arena *arena, const char *text, FILE *out)
{
	fputs(aj_line(arena, text), out);
}

static void print_fix(const char *line, FILE *out)
{
	aj_colour(out, AJ_COLOUR_ADVICE);
	fputs("  fix:", out);
	aj_colour(out, AJ_COLOUR_NONE);
	fprintf(out, " %s\n", line);
}

static void print_finding(const struct aj_diags *diags, const struct aj_diag *d, FILE *out)
{
	put_line(diags->arena, aj_origin_text(&d->at, diags->arena), out);
	fputs(": ", out);
	aj_colour(out, AJ_COLOUR_BAD);
	fputs(d->warning ? "warning" : "error", out);
	aj_colour(out, AJ_COLOUR_NONE);
	fprintf(out, " %s: ", d->code);
	put_line(diags->arena, d->message, out);
	fputc('\n', out);
	if (d->advice) {
		print_fix(aj_line(diags->arena, d->advice), out);
	}
}

int aj_print_error(const struct aj_error *err)
{
	struct aj_arena arena = { 0 };
	char text[600];
	/* Errors quote untrusted names: their control characters must not reach a terminal, nor their lines look like ours. */
	aj_colour(stderr, AJ_COLOUR_BAD);
	fputs("agentjail:", stderr);
	aj_colour(stderr, AJ_COLOUR_NONE);
	fprintf(stderr, " %s\n", aj_line(&arena, aj_error_text(err, text, sizeof text)));
	if (err->fix[0])
		print_fix(aj_line(&arena, err->fix), stderr);
	aj_arena_free(&arena);
	return err->exit_code;
}

int aj_refuse_word(struct aj_error *err, const char *command, const char *what, const char *word)
{
	aj_fail(err, AJ_EXIT_USAGE, "options", 0, "%s `%s`", what, word);
	aj_advise(err, "agentjail %s --help", command);
	return -1;
}

int aj_refuse_subcommand(struct aj_error *err, const char *command, const char *word,
                         const char *(*name_at)(size_t i, const void *arg), size_t count)
{
	const char *meant = aj_suggest(word, name_at, NULL, count);
	aj_refuse_word(err, command, "unknown subcommand", word);
	if (meant)
		snprintf(err->fix, sizeof err->fix, "did you mean `agentjail %s %s`?", command, meant);
	return -1;
}

void aj_findings_print(const struct aj_diags *diags, FILE *out)
{
	for (size_t i = 0; i < diags->list.count; i++)
		print_finding(diags, &diags->list.items[i], out);
	size_t more = diags->errors + diags->warnings - diags->list.count;
	if (more)
		fprintf(out, "and %zu more\n", more);
}

json_t *aj_findings_json(const struct aj_diags *diags)
{
	json_t *all = json_array();
	for (size_t i = 0; i < diags->list.count; i++) {
		const struct aj_diag *d = &diags->list.items[i];
		json_array_append_new(all,
		                      json_pack("{s:s, s:s, s:s*, s:i, s:i, s:s, s:s*}", "severity",
		                                d->warning ? "warning" : "error", "code", d->code, "file", d->at.file, "line",
		                                d->at.line, "column", d->at.column, "message", d->message, "advice", d->advice));
	}
	return all;
}
