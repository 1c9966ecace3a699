/* Tests of what the service and its surroundings say: variables of a service manager, addresses, HTTP requests, histograms.
 * It starts no service; sockets that are made are removed. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "jail/result/result.h"
#include "service/metrics/http.h"
#include "service/metrics/metrics.h"
#include "service/sockets/listen.h"
#include "service/sockets/sd_notify.h"

Test(serving, listen_fds)
{
	static const struct {
		const char *pid, *fds, *names;
		bool good;
		size_t count;
		const char *first, *second;
	} rows[] = {
		{ NULL, NULL, NULL, true, 0, "", "" },
		{ NULL, NULL, "a", true, 0, "", "" },
		{ "42", "1", NULL, true, 1, "", "" },
		{ "42", "2", "a:b", true, 2, "a", "b" },
		{ "42", "2", "a", true, 2, "a", "" },
		{ "42", "2", ":b", true, 2, "", "b" },
		{ "42", "1", "a:b:c", true, 1, "a", "" },
		{ "42", "0", NULL, true, 0, "", "" },
		{ "43", "1", NULL, true, 0, "", "" },
		{ "42", "8", NULL, true, 8, "", "" },
		{ "42", "9", NULL, false, 0, "", "" },
		{ "42", NULL, NULL, false, 0, "", "" },
		{ NULL, "1", NULL, false, 0, "", "" },
		{ "42", "-1", NULL, false, 0, "", "" },
		{ "42", "1x", NULL, false, 0, "", "" },
		{ "", "1", NULL, false, 0, "", "" },
		{ "42", "99999999999999999999", NULL, false, 0, "", "" },
		{ "42", "1", "0123456789012345678901234567890123456789012345678901234567890123", false, 1, "", "" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_listen_fds got;
		cr_expect_eq(aj_listen_fds_parse(rows[i].pid, rows[i].fds, rows[i].names, 42, &got), rows[i].good, "row %zu", i);
		if (!rows[i].good)
			continue;
		cr_expect_eq(got.count, rows[i].count, "row %zu: %zu", i, got.count);
		cr_expect_str_eq(got.items[0].name, rows[i].first, "row %zu", i);
		cr_expect_str_eq(got.items[1].name, rows[i].second, "row %zu", i);
		for (size_t k = 0; k < got.count; k++)
			cr_expect_eq(got.items[k].fd, 3 + (int)k);
	}
}

Test(serving, watchdog)
{
	cr_expect_eq(aj_watchdog_us(NULL, NULL, 42), 0);
	cr_expect_eq(aj_watchdog_us("3000000", NULL, 42), 1500000);
	cr_expect_eq(aj_watchdog_us("3000000", "42", 42), 1500000);
	cr_expect_eq(aj_watchdog_us("3000000", "43", 42), 0);
	cr_expect_eq(aj_watchdog_us("3000000", "x", 42), 0);
	cr_expect_eq(aj_watchdog_us("-1", NULL, 42), 0);
	cr_expect_eq(aj_watchdog_us("soon", NULL, 42), 0);
}

Test(serving, notify)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char got[100] = "", name[64];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	int bytes = snprintf(name, sizeof name, "@aj-unit-%d", (int)getpid());
	memcpy(address.sun_path + 1, name + 1, (size_t)bytes - 1);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)bytes)), 0);
	cr_expect_eq(aj_sd_notify(name, "READY=1"), 0);
	cr_expect_eq(recv(fd, got, sizeof got - 1, MSG_DONTWAIT), 7);
	cr_expect_str_eq(got, "READY=1");
	close(fd);
	cr_expect_eq(aj_sd_notify(name, "READY=1"), -1, "nobody is there");
	cr_expect_eq(aj_sd_notify(NULL, "READY=1"), 0, "nobody asked");
	static const char *const bad[] = { "", "@", "/", "relative", "vsock:2:1234" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_eq(aj_sd_notify(bad[i], "READY=1"), -1, "`%s`", bad[i]);
}

Test(serving, metrics_addresses)
{
	static const char *const good[] = { "127.0.0.1:0", "127.8.9.10:0", "[::1]:0" };
	static const char *const bad[] = { "0.0.0.0:0",       "10.0.0.1:0",   "[::]:0",      "[::ffff:127.0.0.1]:0",
		                           "localhost:0",     "127.0.0.1",    "127.0.0.1:",  "127.0.0.1:x",
		                           "127.0.0.1:65536", "127.0.0.1:-1", "127.1:0",     ":0",
		                           "[::1:0",          "::1:0",        "128.0.0.1:0", "2130706433:0",
		                           "0x7f.0.0.1:0",    "[::1]x:0",     "[]:0",        "[fe80::1]:0" };
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct aj_listener l = AJ_NO_LISTENER;
		struct aj_error err = { 0 };
		int r = aj_listen_metrics(&l, good[i], &err);
		/* A machine without IPv6 has no such address. */
		cr_expect(r == 0 || good[i][0] == '[', "%s: %s", good[i], err.cause);
		aj_listen_end(&l);
		cr_expect_eq(l.fd, -1);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct aj_listener l = AJ_NO_LISTENER;
		struct aj_error err = { 0 };
		cr_expect_eq(aj_listen_metrics(&l, bad[i], &err), -1, "%s is taken", bad[i]);
		cr_expect_eq(err.exit_code, AJ_EXIT_USAGE, "%s", bad[i]);
		cr_expect_eq(l.fd, -1);
	}
}

Test(serving, http_requests)
{
	static const struct {
		const char *head;
		int status;
		bool body;
	} rows[] = {
		{ "GET /metrics HTTP/1.1\r\n\r\n", 200, true },
		{ "GET /metrics HTTP/1.0\n\n", 200, true },
		{ "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 200, true },
		{ "GET /metrics?a=b HTTP/1.1\r\n\r\n", 200, true },
		{ "HEAD /metrics HTTP/1.1\r\n\r\n", 200, false },
		{ "GET /metrics HTTP/1.1\r\n", 0, true },
		{ "GET /metr", 0, true },
		{ "", 0, true },
		{ "GET /metrics/ HTTP/1.1\r\n\r\n", 404, true },
		{ "GET / HTTP/1.1\r\n\r\n", 404, true },
		{ "GET ? HTTP/1.1\r\n\r\n", 404, true },
		{ "GET  HTTP/1.1\r\n\r\n", 404, true },
		{ "GET /../metrics HTTP/1.1\r\n\r\n", 404, true },
		{ "POST /metrics HTTP/1.1\r\n\r\n", 405, true },
		{ "get /metrics HTTP/1.1\r\n\r\n", 405, true },
		{ "GETX /metrics HTTP/1.1\r\n\r\n", 405, true },
		{ "GET /metrics HTTP/2.0\r\n\r\n", 505, true },
		{ "GET /metrics HTTP/1.10\r\n\r\n", 400, true },
		{ "GET /metrics\r\n\r\n", 400, true },
		{ " /metrics HTTP/1.1\r\n\r\n", 400, true },
		{ "\r\n\r\n", 400, true },
		{ "\n\n", 400, true },
	};
	bool body;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int status = aj_http_status(rows[i].head, strlen(rows[i].head), &body);
		/* "GET  HTTP/1.1": an empty path, then the version. */
		cr_expect_eq(status, rows[i].status, "row %zu: %d", i, status);
		cr_expect_eq(body, rows[i].body, "row %zu", i);
	}
	static char much[AJ_HTTP_REQUEST_BYTES];
	memset(much, 'x', sizeof much);
	cr_expect_eq(aj_http_status(much, sizeof much, &body), 431);
	cr_expect_eq(aj_http_status("GET\0/metrics HTTP/1.1\r\n\r\n", 25, &body), 400);
}

Test(serving, histogram)
{
	struct aj_histogram h = { 0 };
	static const struct {
		int64_t us;
		int bucket;
	} rows[] = { { -5, 0 },
		     { 0, 0 },
		     { 100, 0 },
		     { 101, 1 },
		     { 250, 1 },
		     { 60000000, AJ_BUCKETS - 1 },
		     { 60000001, AJ_BUCKETS },
		     { INT64_MAX / 4, AJ_BUCKETS } };
	for (int i = 1; i < AJ_BUCKETS; i++)
		cr_expect(aj_buckets_us[i] > aj_buckets_us[i - 1], "bounds rise");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_histogram one = { 0 };
		aj_histogram_add(&one, rows[i].us);
		aj_histogram_add(&h, rows[i].us);
		cr_expect_eq(one.counts[rows[i].bucket], 1, "%ld us", (long)rows[i].us);
	}
	uint64_t sum = 0;
	for (int i = 0; i <= AJ_BUCKETS; i++)
		sum += h.counts[i];
	cr_expect_eq(sum, 8);
	cr_expect_eq(h.count, 8);
	cr_expect_eq(h.sum_us, 100 + 101 + 250 + 60000000u + 60000001u + (uint64_t)INT64_MAX / 4);
}

/* The value of the line that begins with `name`; -1: there is none. */
static double value(const struct aj_buffer *page, const char *name)
{
	char line[200];
	snprintf(line, sizeof line, "\n%s", name);
	const char *at = memmem(page->data, page->bytes, line, strlen(line));
	return at ? strtod(at + strlen(line), NULL) : -1;
}

Test(serving, page)
{
	static struct aj_metrics m;
	struct aj_buffer page = { 0 };
	struct aj_metrics_now now = { .gauges = { [AJ_GAUGE_JAILS] = 7 }, .codes = { [5] = "busy" } };
	char policy[100];
	for (int i = 0; i < 200; i++) {
		struct aj_syscall row = { 0 };
		snprintf(row.name, sizeof row.name, "call_%d", i);
		snprintf(policy, sizeof policy, "policy-%d", i);
		static struct aj_result result;
		result.status = i % 2 ? AJ_STATUS_OK : AJ_STATUS_TIMEOUT;
		result.violations.items[0] = (struct aj_violation){ .row = &row, .count = (unsigned long)i };
		result.violations.count = 1;
		aj_metrics_run(&m, policy, &result, 1500);
	}
	m.errors[5] = 3;
	m.counters[AJ_COUNT_TOOL_CALLS] = 4;
	aj_metrics_print(&m, &now, &page);
	aj_buffer_add(&page, "", 1);
	cr_expect_eq(value(&page, "agentjail_jails "), 7);
	cr_expect_eq(value(&page, "agentjail_tool_calls_total "), 4);
	cr_expect_eq(value(&page, "agentjail_errors_total{code=\"busy\"} "), 3);
	cr_expect_eq(value(&page, "agentjail_runs_total{policy=\"policy-3\",status=\"ok\"} "), 1);
	cr_expect_eq(value(&page, "agentjail_runs_total{policy=\"policy-63\",status=\"ok\"} "), 1);
	cr_expect_eq(value(&page, "agentjail_runs_total{policy=\"policy-64\",status=\"timeout\"} "), -1, "names are bounded");
	cr_expect_eq(value(&page, "agentjail_runs_total{policy=\"other\",status=\"timeout\"} "), 68);
	cr_expect_eq(value(&page, "agentjail_denials_total{syscall=\"call_5\"} "), 5);
	cr_expect_eq(value(&page, "agentjail_denials_total{syscall=\"other\"} "), (64 + 199) * 136 / 2);
	cr_expect_eq(value(&page, "agentjail_run_seconds_bucket{le=\"0.001\"} "), 0);
	cr_expect_eq(value(&page, "agentjail_run_seconds_bucket{le=\"0.0025\"} "), 200);
	cr_expect_eq(value(&page, "agentjail_run_seconds_bucket{le=\"+Inf\"} "), 200);
	cr_expect_float_eq(value(&page, "agentjail_run_seconds_sum "), 0.3, 1e-9);
	cr_expect_eq(value(&page, "agentjail_queue_wait_seconds_count "), 0);
	aj_buffer_free(&page);
}
