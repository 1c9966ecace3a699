/* The front's data, and the functions that its two files share. */
#pragma once
#include "base/loop/loop.h"
#include "network/helper/helper.h"
#include "service/front/front.h"
#include "service/metrics/http.h"
#include "service/sockets/listen.h"

struct child {
	struct front *front;
	unsigned index;
	struct aj_helper process;
	struct aj_io messages, end;
	struct aj_timer again; /* it is to be started, or an order waits */
	int64_t started_us;
	bool ready;      /* it has said that it serves clients */
	unsigned checks; /* in a row that found no progress */
	uint32_t beats;  /* of its page of the board, at the last check */
	unsigned stops;  /* orders to stop that were not sent yet */
};

struct front {
	const struct aj_server_config *config;
	struct aj_loop *loop;
	struct aj_listener clients;
	struct aj_metrics_http *http;
	struct aj_io signals;
	struct aj_timer watchdog, check, kill;
	struct aj_board *board;
	unsigned count;
	bool serving; /* all shards were ready */
	bool stopping;
	struct aj_error failed; /* why a shard did not start, before that */
	struct child shards[AJ_SHARDS_MAX];
};

/* --- children.c --- */
/* Start its process; whether that is ready comes later. -1 with err. */
int aj_front_start(struct child *child, struct aj_error *err);
void aj_front_end(struct child *child);
/* Send the orders that wait. */
void aj_front_send_stops(struct child *child);
void aj_front_on_again(struct aj_timer *timer);
/* Kill the shards that hang; the front is the timer's argument. */
void aj_front_on_check(struct aj_timer *timer);
