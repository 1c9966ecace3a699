/* The warm path as a program sees it that has it in its own loop: a house, sessions, snippets. Everything waits until it is done. */
#pragma once
#include "base/error.h"
#include "session/manager.h"

struct visit {
	struct aj_session *session;
	bool opened, answered;
	unsigned calls;     /* of the tool, answered at once */
	double answered_us; /* when */
};

struct yard {
	struct aj_loop *loop;
	struct aj_manager *manager;
	struct aj_ask ask;
	unsigned depth;
};

/* `depth` parked jails of `policy`, all there when this returns. */
void yard_open(struct yard *yard, const char *policy, unsigned depth);
void yard_close(struct yard *yard);
/* Until the parked jails are there again, and for a moment more. */
void yard_settle(struct yard *yard);
/* Until all that was given back is gone. */
void yard_rest(struct yard *yard);
/* The modules that its policy allows, NULL-terminated. */
char **yard_modules(const char *policy);

void visit_begin(struct visit *visit, struct yard *yard);
void visit_begin_branching(struct visit *visit, struct yard *yard);
void visit_await_open(struct visit *visit, struct yard *yard);
void visit_end(struct visit *visit);
/* Declares `tool(a: integer) -> integer`. */
void visit_tool(struct visit *visit);
/* A snippet from the request to its result, in microseconds; `last`: the session is for it alone. */
double visit_run(struct visit *visit, struct yard *yard, const char *code, bool last);
/* An endless snippet: from the interrupt to its result. */
double visit_interrupt(struct visit *visit, struct yard *yard);
/* A branch of the session, from the request until it can be used. */
double visit_fork(struct visit *visit, struct yard *yard);
/* A fresh jail: asked for, used for one snippet, answered. The time of its end is not counted. */
double yard_hit(struct yard *yard, const char *code);
/* The same, but from the request to the jail's being there. */
double yard_birth(struct yard *yard);
/* Fresh jails, each for one snippet, with so many clients for `us` microseconds: a second. */
double yard_flow(struct yard *yard, int clients, double us);
