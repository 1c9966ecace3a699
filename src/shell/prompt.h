/* One line from a person at a terminal, with the editing that one is used to. */
#pragma once
#include <signal.h>
#include <stdio.h>

struct aj_prompt;

enum aj_typed {
	AJ_TYPED_LINE,
	AJ_TYPED_INTERRUPT, /* Ctrl-C: what stood there is gone */
	AJ_TYPED_END,       /* Ctrl-D, or no terminal any more */
};

/* Reads from standard input, writes to `out`. *interrupts grows with every SIGINT, whose handler is the caller's. */
struct aj_prompt *aj_prompt_open(FILE *out, const volatile sig_atomic_t *interrupts);
/* *ret_line: without its newline, valid until the next call. */
enum aj_typed aj_prompt_read(struct aj_prompt *prompt, const char *words, const char **ret_line);
void aj_prompt_close(struct aj_prompt *prompt);
