/* Lines that a person types in answer to a question, after a jail has ended. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { AJ_ANSWER_SIGNALS = 4 };
struct aj_answers {
	struct sigaction old[AJ_ANSWER_SIGNALS];
	sigset_t before; /* the mask while a line is awaited */
};

/* From here to the end a signal that would end the program ends the wait for a line in its place. */
void aj_answers_begin(struct aj_answers *answers);
void aj_answers_end(const struct aj_answers *answers);
/* Drop the keys that were typed until now, after the terminal has all that was written. False: it is gone. */
bool aj_answers_drop_typed(void);
/* A line without its end. False: none came in five minutes, the terminal is another program's, or a signal came. */
bool aj_answers_read(const struct aj_answers *answers, char *line, size_t room);
