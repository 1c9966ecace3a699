/* The counters and current values of several processes, in shared memory: each process writes its own page, and any of them reads
 * the sum. A page is a claim of its process: no decision about a jail depends on it. */
#pragma once
#include "service/metrics/metrics.h"

struct aj_board;

/* Before the processes are forked. NULL with errno. */
struct aj_board *aj_board_new(unsigned pages);
void aj_board_free(struct aj_board *board);
/* Processes that the caller forks do not have the memory: those of jails have no part in it. */
void aj_board_keep_from_children(struct aj_board *board);

/* Write the page of the calling process. */
void aj_board_publish(struct aj_board *board, unsigned page, const struct aj_metrics *metrics, const uint64_t gauges[AJ_GAUGES]);
/* The calling process, whose page it is, turns its loop; and how often it has reported that, for a reader to compare. */
void aj_board_beat(struct aj_board *board, unsigned page);
uint32_t aj_board_beats(const struct aj_board *board, unsigned page);
/* Add up all pages but `except` (-1: all), into zeroed memory. `ret_metrics` may be NULL. */
void aj_board_sum(const struct aj_board *board, int except, struct aj_metrics *ret_metrics, uint64_t ret_gauges[AJ_GAUGES]);
/* The process of the page has ended: its counts stay in the sum, its current values are removed. Called by one process. */
void aj_board_retire(struct aj_board *board, unsigned page);
