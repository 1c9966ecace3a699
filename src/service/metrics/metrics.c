/* Counts, and prints the counts, from one table.
 * Labels are names known to the service and bounded in number; no text of a client or a jail becomes a label. */
#include "service/metrics/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const int64_t aj_buckets_us[AJ_BUCKETS] = {
	100,    250,    500,    1000,    2500,    5000,    10000,    25000,    50000,
	100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000,
};

enum source { BUILD, RUNS, QUEUE, RUN, COUNTER, GAUGE, DENIALS, ERRORS };

/* clang-format off */
static const struct {
	const char *name, *type, *labels;
	enum source source;
	int index; /* of a counter or gauge */
	const char *help;
} rows[] = {
	{ "agentjail_build_info", "gauge", "version", BUILD, 0, "always 1" },
	{ "agentjail_runs_total", "counter", "policy, status", RUNS, 0,
	  "runs that are over (snippets, and variables that were set), by the status of their result" },
	{ "agentjail_queue_wait_seconds", "histogram", "", QUEUE, 0,
	  "from a request for a jail (exec, open) until the jail is there" },
	{ "agentjail_run_seconds", "histogram", "", RUN, 0,
	  "from the moment a jail is given a snippet until its result is there" },
	{ "agentjail_jails", "gauge", "", GAUGE, AJ_GAUGE_JAILS, "jails alive, parked ones included" },
	{ "agentjail_jails_in_use", "gauge", "", GAUGE, AJ_GAUGE_IN_USE,
	  "jails that a session or a snippet has, or is about to get" },
	{ "agentjail_jails_parked", "gauge", "", GAUGE, AJ_GAUGE_PARKED,
	  "jails that are ready and wait to be used: the depth of all pools" },
	{ "agentjail_jails_starting", "gauge", "", GAUGE, AJ_GAUGE_STARTING, "jails on their way" },
	{ "agentjail_zygotes", "gauge", "", GAUGE, AJ_GAUGE_ZYGOTES, "zygotes alive" },
	{ "agentjail_zygote_deaths_total", "counter", "", GAUGE, AJ_GAUGE_ZYGOTE_DEATHS,
	  "zygotes that died unexpectedly, without being stopped by the service" },
	{ "agentjail_sessions", "gauge", "", GAUGE, AJ_GAUGE_SESSIONS, "sessions that are open" },
	{ "agentjail_sessions_opened_total", "counter", "", COUNTER, AJ_COUNT_SESSIONS_OPENED, "sessions that were opened" },
	{ "agentjail_requests_waiting", "gauge", "", GAUGE, AJ_GAUGE_WAITING, "requests that wait for room" },
	{ "agentjail_tool_calls_total", "counter", "", COUNTER, AJ_COUNT_TOOL_CALLS, "tool calls that went to a client" },
	{ "agentjail_clients", "gauge", "", GAUGE, AJ_GAUGE_CLIENTS, "connections" },
	{ "agentjail_clients_accepted_total", "counter", "", COUNTER, AJ_COUNT_CLIENTS_ACCEPTED, "connections that were served" },
	{ "agentjail_clients_denied_total", "counter", "", COUNTER, AJ_COUNT_CLIENTS_DENIED,
	  "connections that were refused because of their user" },
	{ "agentjail_clients_dropped_total", "counter", "", COUNTER, AJ_COUNT_CLIENTS_DROPPED,
	  "connections that were ended because they did not read what was sent" },
	{ "agentjail_clients_late_total", "counter", "", COUNTER, AJ_COUNT_CLIENTS_LATE,
	  "connections that were ended because a frame that they had begun did not come to its end, "
	  "or to make room for others" },
	{ "agentjail_denials_total", "counter", "syscall", DENIALS, 0,
	  "system calls that the kernel refused to jails, at most 64 names and `other`" },
	{ "agentjail_errors_total", "counter", "code", ERRORS, 0, "error answers, by their code" },
};
/* clang-format on */

void aj_histogram_add(struct aj_histogram *h, int64_t us)
{
	int at = 0;
	if (us < 0)
		us = 0;
	while (at < AJ_BUCKETS && us > aj_buckets_us[at])
		at++;
	h->counts[at]++;
	h->count++;
	h->sum_us += (uint64_t)us;
}

/* The index of the row of that name, of a new one, or of the last one, which counts all other names. */
static size_t find_row(void *items, size_t item_bytes, size_t max, const char *name)
{
	for (size_t i = 0; i < max; i++) {
		char *own = (char *)items + i * item_bytes;
		if (!*own)
			snprintf(own, AJ_METRIC_NAME_BYTES, "%s", name);
		if (strncmp(own, name, AJ_METRIC_NAME_BYTES - 1) == 0)
			return i;
	}
	memcpy((char *)items + max * item_bytes, "other", sizeof "other");
	return max;
}

void aj_metrics_run(struct aj_metrics *m, const char *policy, const struct aj_result *result, int64_t us)
{
	m->runs[find_row(m->runs, sizeof *m->runs, AJ_METRIC_POLICIES, policy)].by_status[result->status]++;
	aj_histogram_add(&m->run, us);
	for (size_t i = 0; i < result->violations.count; i++) {
		const struct aj_violation *one = &result->violations.items[i];
		m->denials[find_row(m->denials, sizeof *m->denials, AJ_METRIC_SYSCALLS, one->row->name)].count += one->count;
	}
}

static void add_histogram(struct aj_histogram *to, const struct aj_histogram *from)
{
	for (int i = 0; i <= AJ_BUCKETS; i++)
		to->counts[i] += from->counts[i];
	to->count += from->count;
	to->sum_us += from->sum_us;
}

void aj_metrics_add(struct aj_metrics *m, const struct aj_metrics *more)
{
	char name[AJ_METRIC_NAME_BYTES];
	for (int i = 0; i < AJ_COUNTERS; i++)
		m->counters[i] += more->counters[i];
	for (int i = 0; i < AJ_METRIC_CODES; i++)
		m->errors[i] += more->errors[i];
	for (size_t p = 0; p <= AJ_METRIC_POLICIES; p++) {
		snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, more->runs[p].policy);
		size_t row = *name ? find_row(m->runs, sizeof *m->runs, AJ_METRIC_POLICIES, name) : 0;
		for (int s = 0; *name && s <= AJ_STATUS_SETUP_ERROR; s++)
			m->runs[row].by_status[s] += more->runs[p].by_status[s];
	}
	for (size_t i = 0; i <= AJ_METRIC_SYSCALLS; i++) {
		snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, more->denials[i].syscall);
		if (*name)
			m->denials[find_row(m->denials, sizeof *m->denials, AJ_METRIC_SYSCALLS, name)].count += more->denials[i]
			                                                                                            .count;
	}
	add_histogram(&m->queue, &more->queue);
	add_histogram(&m->run, &more->run);
}

static void add_text(struct aj_buffer *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add_text(struct aj_buffer *out, const char *fmt, ...)
{
	char line[512];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	aj_buffer_add(out, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static void print_histogram(const char *name, const struct aj_histogram *h, struct aj_buffer *out)
{
	uint64_t sum = 0;
	for (int i = 0; i < AJ_BUCKETS; i++) {
		sum += h->counts[i];
		add_text(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name, (double)aj_buckets_us[i] / 1e6, sum);
	}
	add_text(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, h->count);
	add_text(out, "%s_sum %" PRIu64 ".%06" PRIu64 "\n%s_count %" PRIu64 "\n", name, h->sum_us / 1000000, h->sum_us % 1000000,
	         name, h->count);
}

static void print_runs(const struct aj_metrics *m, const char *name, struct aj_buffer *out)
{
	for (size_t p = 0; p <= AJ_METRIC_POLICIES; p++)
		for (int s = 0; *m->runs[p].policy && s <= AJ_STATUS_SETUP_ERROR; s++)
			if (m->runs[p].by_status[s])
				add_text(out, "%s{policy=\"%s\",status=\"%s\"} %" PRIu64 "\n", name, m->runs[p].policy,
				         aj_status_name((enum aj_status)s), m->runs[p].by_status[s]);
}

void aj_metrics_print(const struct aj_metrics *m, const struct aj_metrics_now *now, struct aj_buffer *out)
{
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		const char *name = rows[r].name;
		add_text(out, "# HELP %s %s\n# TYPE %s %s\n", name, rows[r].help, name, rows[r].type);
		switch (rows[r].source) {
		case BUILD:
			add_text(out, "%s{version=\"" AJ_VERSION "\"} 1\n", name);
			break;
		case RUNS:
			print_runs(m, name, out);
			break;
		case QUEUE:
			print_histogram(name, &m->queue, out);
			break;
		case RUN:
			print_histogram(name, &m->run, out);
			break;
		case COUNTER:
			add_text(out, "%s %" PRIu64 "\n", name, m->counters[rows[r].index]);
			break;
		case GAUGE:
			add_text(out, "%s %" PRIu64 "\n", name, now->gauges[rows[r].index]);
			break;
		case DENIALS:
			for (size_t i = 0; i <= AJ_METRIC_SYSCALLS; i++)
				if (*m->denials[i].syscall)
					add_text(out, "%s{syscall=\"%s\"} %" PRIu64 "\n", name, m->denials[i].syscall,
					         m->denials[i].count);
			break;
		case ERRORS:
			for (int i = 0; i < AJ_METRIC_CODES; i++)
				if (m->errors[i])
					add_text(out, "%s{code=\"%s\"} %" PRIu64 "\n", name, now->codes[i], m->errors[i]);
			break;
		}
	}
}

bool aj_metric_row(size_t index, const char **ret_name, const char **ret_type, const char **ret_labels, const char **ret_help)
{
	if (index >= sizeof rows / sizeof *rows)
		return false;
	*ret_name = rows[index].name;
	*ret_type = rows[index].type;
	*ret_labels = rows[index].labels;
	*ret_help = rows[index].help;
	return true;
}
