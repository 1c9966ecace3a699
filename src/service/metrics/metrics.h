/* The service's counters, printed for Prometheus (text format 0.0.4) from one table of metrics. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "jail/result/result.h"

enum {
	AJ_METRIC_POLICIES = 64, /* with rows of their own; the rest is counted as `other` */
	AJ_METRIC_SYSCALLS = 64, /* likewise */
	AJ_METRIC_CODES = 32,
	AJ_METRIC_NAME_BYTES = 64,
};

/* Upper bounds in microseconds; one more bucket, without a bound, is last. */
extern const int64_t aj_buckets_us[];
enum { AJ_BUCKETS = 18 };

struct aj_histogram {
	uint64_t counts[AJ_BUCKETS + 1]; /* not cumulated */
	uint64_t count, sum_us;
};
void aj_histogram_add(struct aj_histogram *histogram, int64_t us);

enum aj_counter {
	AJ_COUNT_TOOL_CALLS,
	AJ_COUNT_SESSIONS_OPENED,
	AJ_COUNT_CLIENTS_ACCEPTED,
	AJ_COUNT_CLIENTS_DENIED,
	AJ_COUNT_CLIENTS_DROPPED,
	AJ_COUNT_CLIENTS_LATE,
	AJ_COUNTERS,
};

/* Current values. */
enum aj_gauge {
	AJ_GAUGE_JAILS,
	AJ_GAUGE_PARKED,
	AJ_GAUGE_STARTING,
	AJ_GAUGE_ZYGOTES,
	AJ_GAUGE_ZYGOTE_DEATHS, /* a counter, kept by the session manager */
	AJ_GAUGE_IN_USE,
	AJ_GAUGE_SESSIONS,
	AJ_GAUGE_WAITING,
	AJ_GAUGE_CLIENTS,
	AJ_GAUGES,
};

struct aj_metrics {
	uint64_t counters[AJ_COUNTERS];
	uint64_t errors[AJ_METRIC_CODES]; /* by the caller's numbers */
	struct {
		char policy[AJ_METRIC_NAME_BYTES];
		uint64_t by_status[AJ_STATUS_SETUP_ERROR + 1];
	} runs[AJ_METRIC_POLICIES + 1];
	struct {
		char syscall[AJ_METRIC_NAME_BYTES];
		uint64_t count;
	} denials[AJ_METRIC_SYSCALLS + 1];
	struct aj_histogram queue, run;
};

/* Count a run that is over: its result, and its duration as the service measured it. */
void aj_metrics_run(struct aj_metrics *metrics, const char *policy, const struct aj_result *result, int64_t us);
/* Add what another process has counted. Its names are cut at their end. */
void aj_metrics_add(struct aj_metrics *metrics, const struct aj_metrics *more);
/* Figures that the caller adds to a page. */
struct aj_metrics_now {
	uint64_t gauges[AJ_GAUGES];
	const char *codes[AJ_METRIC_CODES]; /* names of `errors` */
};
void aj_metrics_print(const struct aj_metrics *metrics, const struct aj_metrics_now *now, struct aj_buffer *out);

/* For the documentation: the row at `index`; false behind the last one. */
bool aj_metric_row(size_t index, const char **ret_name, const char **ret_type, const char **ret_labels, const char **ret_help);
