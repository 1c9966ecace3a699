/* A jail that lasts, in an event loop: jail/run with its descriptors and deadlines watched.
 * The owner is told what happened after every event, and frees a worker only once it is gone. */
#pragma once
#include "base/loop.h"
#include "jail/run.h"

struct aj_worker {
	struct aj_run run;
	/* Told with AJ_LIVE_* bits; the last thing that happens in an event, so it may free a worker that is gone. */
	void (*on_event)(struct aj_worker *worker, unsigned found);
	void *owner;
	bool warm;              /* born from a zygote */
	struct aj_worker *next; /* the owner's */

	struct aj_loop *loop;
	struct aj_quota quota; /* for all that the jail says and writes; its end is seen at once */
	struct aj_io io[AJ_RUN_FDS];
	struct aj_timer timer;
};

/* Watch the jail in worker->live.jail; plan, policy and the callbacks are set, the rest is zero. -1 with err: it could not be
 * watched, and was ended. */
int aj_worker_start(struct aj_worker *worker, struct aj_loop *loop, int filters, struct aj_error *err);
/* After the owner changed what the jail waits for, such as its deadline. */
void aj_worker_watch(struct aj_worker *worker);
/* See aj_run_begin(). */
int aj_worker_run(struct aj_worker *worker, const struct aj_request *request, uint64_t timeout_ms, struct aj_error *err);
/* A tool's answer, JSON. */
void aj_worker_tool(struct aj_worker *worker, const char *text, size_t bytes);
void aj_worker_interrupt(struct aj_worker *worker);
/* End it; on_event tells when it is gone. */
void aj_worker_end(struct aj_worker *worker);
/* Kill it, wait for it, and free what it holds, here and now; on_event is not told. */
void aj_worker_destroy(struct aj_worker *worker);
