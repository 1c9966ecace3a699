/* A lasting jail in an event loop: jail/run with its descriptors and deadlines watched.
 * The owner is notified after every event, and frees a worker only once it is gone. */
#pragma once
#include "base/loop.h"
#include "jail/run.h"

struct aj_worker {
	struct aj_run run;
	/* Called with AJ_RUN_* bits as an event's last act, so it may free a worker that is gone. */
	void (*on_event)(struct aj_worker *worker, unsigned found);
	void *owner;
	bool warm;              /* born from a zygote */
	struct aj_worker *next; /* the owner's */

	struct aj_loop *loop;
	struct aj_quota quota; /* for all output and messages of the jail; its end is handled at once */
	struct aj_io io[AJ_RUN_FDS];
	struct aj_timer timer;
};

/* Watch the jail in worker->run.jail; plan, policy and the callbacks are set, the rest is zero. -1 with err: the jail could not be
 * watched, and was ended. */
int aj_worker_start(struct aj_worker *worker, struct aj_loop *loop, int filters, struct aj_error *err);
/* Call after changing what the jail waits for, such as its deadline. */
void aj_worker_watch(struct aj_worker *worker);
/* See aj_run_begin(). */
int aj_worker_run(struct aj_worker *worker, const struct aj_request *request, uint64_t timeout_ms, struct aj_error *err);
/* A tool's answer, JSON. */
void aj_worker_tool(struct aj_worker *worker, const char *text, size_t bytes);
void aj_worker_interrupt(struct aj_worker *worker);
/* End the jail; on_event reports when it is gone. */
void aj_worker_end(struct aj_worker *worker);
/* Kill the jail, wait for it, and free its resources, now, without on_event. */
void aj_worker_destroy(struct aj_worker *worker);
