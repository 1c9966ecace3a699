/* Reads a line from a person at a terminal, with the usual line editing. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct aj_prompt;

enum aj_typed {
	AJ_TYPED_LINE,
	AJ_TYPED_INTERRUPT, /* Ctrl-C: the line was discarded */
	AJ_TYPED_END,       /* Ctrl-D, or the terminal is gone */
};

/* Reads from standard input, writes to `out`. *interrupts grows with every SIGINT, whose handler is the caller's. */
struct aj_prompt *aj_prompt_open(FILE *out, const volatile sig_atomic_t *interrupts);
/* *ret_line: without its newline, valid until the next call. */
enum aj_typed aj_prompt_read(struct aj_prompt *prompt, const char *words, const char **ret_line);
/* SIGINTs up to now interrupted something else, such as a snippet: they discard no line. Those that arrive between two calls of
 * aj_prompt_read() discard the next line. */
void aj_prompt_skip_interrupts(struct aj_prompt *prompt);
/* Did the last line end inside a pasted text, of which more comes? */
bool aj_prompt_pasting(const struct aj_prompt *prompt);
void aj_prompt_close(struct aj_prompt *prompt);
