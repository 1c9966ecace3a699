/* `agentjail session`: runs snippet after snippet in one jail, typed by a person or read from standard input.
 * It finds the end of each snippet (cli/shell/statement, or a line `# %%`) and inspects its code no further. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/command.h"
#include "cli/refuse.h"
#include "cli/shell/prompt.h"
#include "cli/shell/shell.h"
#include "cli/shell/statement.h"
#include "cli/shell/transfer.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/guard.h"
#include "cli/terminal/help.h"

#define CELL "# %%"

static const char help
    [] = "Python is run as it is typed: a statement at once, a block after an empty line. Variables are kept.\n"
	 "Ctrl-C stops the snippet (three times: ends its jail) or clears the line, Ctrl-D ends the session. Only these are not Python:\n"
	 "  :put FILE [NAME]  give the jail a file of the host: below /input, or at a path below /tmp or /output\n"
	 "  :get NAME [FILE]  copy a file of the jail's, below /tmp or at a path, to a new file of the host\n"
	 "  :new   begin a new jail, without variables\n"
	 "  :vars  list the variables\n"
	 "  :quit  as Ctrl-D, and so are exit, quit, exit() and quit() alone on a line\n"
	 "  :help  this\n";

/* Append a line; the text ends with a NUL that its length does not count. */
static void append_line(struct aj_buffer *text, const char *line, size_t bytes)
{
	aj_buffer_add(text, line, bytes);
	*aj_buffer_reserve(text, 1) = '\0';
}

static bool blank(const char *text)
{
	return text[strspn(text, " \t\r\n\f")] == '\0';
}

/* Is this the line's first word? */
static bool has_word(const char *line, const char *word)
{
	size_t bytes = strlen(word);
	return strncmp(line, word, bytes) == 0 && strchr(" \t", line[bytes]);
}

enum line_kind { PYTHON, OURS, QUIT };

/* Carry out a command of the shell: a line that begins with a colon, which no Python line does, or what ends Python's own
 * shell. */
static enum line_kind run_command(struct aj_shell *shell, const char *line)
{
	static const char *const quits[] = { ":quit", "exit", "exit()", "quit", "quit()" };
	for (size_t i = 0; i < sizeof quits / sizeof *quits; i++)
		if (strcmp(line, quits[i]) == 0)
			return QUIT;
	if (line[0] != ':')
		return blank(line) ? OURS : PYTHON;
	if (strcmp(line, ":new") == 0)
		aj_shell_renew(shell);
	else if (strcmp(line, ":vars") == 0)
		aj_shell_vars(shell);
	else if (has_word(line, ":put"))
		aj_transfer_put(shell, line + strlen(":put"));
	else if (has_word(line, ":get"))
		aj_transfer_get(shell, line + strlen(":get"));
	else
		fputs(help, stderr);
	return OURS;
}

static void read_terminal(struct aj_shell *shell, const struct aj_options *o)
{
	struct aj_prompt *prompt = aj_prompt_open(aj_guard_unguarded(isatty(1) ? stdout : stderr), &aj_shell_interrupts);
	struct aj_buffer text = { 0 };
	const char *line;
	enum aj_typed typed;
	fprintf(stderr,
	        "agentjail " AJ_VERSION ", policy %s. Ctrl-C stops a snippet, Ctrl-D ends the session, :help says more.\n",
	        o->loaded.policy.name);
	while ((typed = aj_prompt_read(prompt, text.bytes ? "... " : ">>> ", &line)) != AJ_TYPED_END) {
		if (typed == AJ_TYPED_INTERRUPT) {
			fputc('\n', stderr);
			aj_buffer_free(&text);
			continue;
		}
		/* A pasted text is Python as a whole, and is run by the Enter after it. */
		bool pasting = aj_prompt_pasting(prompt);
		enum line_kind kind = text.bytes || (pasting && !blank(line)) ? PYTHON : run_command(shell, line);
		if (kind == QUIT)
			break;
		if (kind == OURS) {
			aj_prompt_skip_interrupts(prompt);
			continue;
		}
		append_line(&text, line, strlen(line));
		append_line(&text, "\n", 1);
		if (pasting || !aj_statement_complete(text.data))
			continue;
		aj_shell_run(shell, text.data, text.bytes);
		aj_prompt_skip_interrupts(prompt);
		aj_buffer_free(&text);
	}
	if (typed == AJ_TYPED_END)
		fputc('\n', stderr);
	aj_buffer_free(&text);
	aj_prompt_close(prompt);
	shell->code = 0; /* the person has seen the errors */
}

static void read_cells(struct aj_shell *shell)
{
	struct aj_buffer text = { 0 };
	char *line = NULL;
	size_t room = 0;
	ssize_t bytes;
	bool on = true;
	while (on && (bytes = getline(&line, &room, stdin)) >= 0) {
		bool end = strncmp(line, CELL, sizeof CELL - 1) == 0;
		if (!end)
			append_line(&text, line, (size_t)bytes);
		if (end && text.bytes && !blank(text.data))
			on = aj_shell_run(shell, text.data, text.bytes);
		if (end)
			aj_buffer_free(&text);
	}
	if (on && text.bytes && !blank(text.data))
		aj_shell_run(shell, text.data, text.bytes);
	aj_buffer_free(&text);
	free(line);
}

static void usage(void)
{
	printf("Usage: agentjail session [options]\n\n"
	       "Runs Python snippets, one after the other, in one jail that keeps their\n"
	       "variables. At a terminal it is a shell. From elsewhere it reads standard input:\n"
	       "snippets separated by lines that begin with `%s`, each run when its last line\n"
	       "is read.\n",
	       CELL);
	aj_options_help(AJ_FOR_SESSION, stdout);
	aj_help_heading(stdout, "Examples");
	fputs("  agentjail session --policy data-analysis\n  agentjail session --json <cells.py\n", stdout);
}

int aj_cmd_session(int argc, char **argv)
{
	struct aj_arena arena = { 0 };
	struct aj_error err = { 0 };
	struct aj_options o = { .arena = &arena };
	struct aj_shell shell = { 0 };
	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		usage();
		return 0;
	}
	o.request.is_snippet = true;
	int first = aj_options_parse(&o, AJ_FOR_SESSION, argc, argv, &err);
	if (first >= 0 && first < argc)
		aj_fail(&err, AJ_EXIT_USAGE, "options", 0, "unexpected `%s`: snippets come from standard input", argv[first]);
	shell.person = isatty(0) && (isatty(1) || isatty(2));
	if (err.exit_code || aj_options_load(&o, AJ_FOR_SESSION, &err) < 0 ||
	    aj_options_check_workspace(&o, AJ_FOR_SESSION, &err) < 0 || aj_shell_open(&shell, &o, &err) < 0) {
		int code = aj_refuse_setup(&o, &err);
		aj_arena_free(&arena);
		return code;
	}
	if (shell.person)
		read_terminal(&shell, &o);
	else
		read_cells(&shell);
	if (shell.show.failed) {
		aj_fail(&err, AJ_EXIT_SETUP, "output", 0, "the result could not be written");
		shell.code = aj_print_error(&err);
	}
	aj_shell_close(&shell);
	aj_arena_free(&arena);
	return shell.code;
}
