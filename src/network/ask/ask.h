/* Asks a person, or a program on a person's behalf, about names that a jail's list lacks:
 *
 *   relay ──► aj_asker_ask() ──► a command, a descriptor or the terminal ──► the callback ──► relay
 *
 * Open questions and questions per minute are limited: otherwise a jail could ask until a person says yes by mistake.
 * A question without an answer counts as a denial, and a denied name is denied for a while without another question. */
#pragma once
#include "base/buffer.h"
#include "base/loop/loop.h"
#include "base/loop/rate.h"
#include "network/egress/egress.h"
#include "policy/plan/plan.h"

struct aj_asker;

/* Called once for each question, perhaps before aj_asker_ask() returns. `why` of a permission: it could not be saved. */
struct aj_ask_answer {
	const char *name;
	uint16_t port;
	const char *by; /* "terminal", "command" or "fd"; NULL: the question was not asked */
	int64_t waited_us;
	struct aj_egress_answer said;
};
typedef void aj_answered_fn(void *arg, const struct aj_ask_answer *answer);

/* Before the jail starts: -1 with err where the caller cannot be asked, or the file cannot be added to. *ret is NULL if no
 * questions are asked. `shown`: the command's output is shown while it runs. */
int aj_asker_open(struct aj_asker **ret, struct aj_loop *loop, const struct aj_plan *plan, const struct aj_policy *policy,
                  const struct aj_request *request, bool shown, struct aj_error *err);
/* Without an asker the answer is no. */
void aj_asker_ask(struct aj_asker *asker, uint32_t id, const char *name, uint16_t port, aj_answered_fn *fn, void *arg);
/* Called before a question is shown at the terminal, and after the last one: in between the output of the jail must wait. */
typedef void aj_pause_fn(void *arg, bool paused);
void aj_asker_on_pause(struct aj_asker *asker, aj_pause_fn *pause, void *arg);
/* The terminal has taken all output from before the pause: the question may follow. */
void aj_asker_flushed(struct aj_asker *asker);
/* Questions that are open get no answer: the jail is gone. */
void aj_asker_close(struct aj_asker *asker);

/* --- for the files of this folder --- */

enum {
	AJ_ASK_OPEN_MAX = 8,
	AJ_ASK_LINE_BYTES = 4096,
	AJ_ASK_WORD_BYTES = 16, /* of the id in a line */
};

/* A question that is open. */
struct aj_asked {
	struct aj_asker *asker; /* NULL: this place is free */
	uint32_t id, relay_id;  /* ours, which no question before had; the relay's */
	uint16_t port;
	char name[256];
	struct aj_timer deadline;
	int64_t asked_us;
	aj_answered_fn *fn;
	void *arg;
	/* Of the command that was started for it. */
	pid_t pid;
	int pidfd;
	struct aj_io out;
	char line[AJ_ASK_LINE_BYTES];
	size_t bytes;
};

/* A way to ask. */
struct aj_ask_way {
	const char *nobody;               /* the reason of a refusal where `put` fails */
	bool (*put)(struct aj_asked *q);  /* ask; false: it cannot be asked */
	void (*drop)(struct aj_asked *q); /* it was answered, or its time is over */
	void (*close)(struct aj_asker *a);
};
extern const struct aj_ask_way aj_ask_by_command, aj_ask_by_descriptor, aj_ask_by_terminal;

struct aj_asker {
	struct aj_loop *loop;
	const struct aj_ask_way *way;
	struct aj_ask_whom whom;
	uint64_t timeout_ms;
	struct aj_ask_save *save; /* NULL: nothing is written */
	struct aj_asked open[AJ_ASK_OPEN_MAX];
	uint32_t last_id;
	struct aj_rate rate; /* of questions */
	struct {
		char name[256];
		uint16_t port;
		int64_t until_us;
	} denied[32];
	unsigned next_denied;
	/* By descriptor, and at the terminal. */
	struct aj_io io;
	char line[AJ_ASK_LINE_BYTES];
	size_t bytes;
	bool ended; /* no more questions are asked */
	/* At the terminal. */
	struct aj_asked *shown; /* NULL: none */
	struct aj_buffer text;  /* of it, that the terminal has not taken yet */
	unsigned number, tries;
	bool posed;           /* the terminal has it, and keys count */
	bool typed;           /* an answer to it */
	bool paused, flushed; /* the jail's output is paused; the terminal has taken all of it */
	aj_pause_fn *pause;   /* NULL: the jail has no output */
	void *pause_arg;
};

/* End a question with this answer; `why`: of a refusal. */
void aj_asked_end(struct aj_asked *q, enum aj_egress_verdict verdict, const char *why);

/* --- network/ask/by_terminal.c --- */

/* -1 with err: output of the jail can reach the terminal in ways that a question cannot pause. */
int aj_ask_check_output(const struct aj_plan *plan, struct aj_error *err);

/* --- network/ask/line.c --- */

/* The question as a line of JSON with its newline; its length. */
size_t aj_ask_write_line(const struct aj_asked *q, char out[AJ_ASK_LINE_BYTES]);
/* Parse an answer, without its newline. False: invalid. *ret_id is 0 where the line has no id, UINT32_MAX for an unknown id. */
bool aj_ask_read_line(const char *line, size_t bytes, uint32_t *ret_id, enum aj_egress_verdict *ret_verdict);
/* Is it a name that may be shown: letters, digits, `-`, `_` and dots alone? */
bool aj_ask_name_valid(const char *name);

/* --- network/ask/save.c --- */

struct aj_ask_save;
/* NULL with err: the file cannot be read, is no list of hosts, or lies where the jail may write. */
struct aj_ask_save *aj_ask_save_open(const struct aj_ask_whom *whom, const struct aj_plan *plan, struct aj_error *err);
/* Adds "name:port" to the list. -1 with err. */
int aj_ask_save_add(struct aj_ask_save *save, const char *name, uint16_t port, struct aj_error *err);
void aj_ask_save_close(struct aj_ask_save *save);
/* The text with one more item; NULL: it has no list of hosts. The caller frees it. */
char *aj_ask_save_insert(const char *text, const char *name, uint16_t port);
