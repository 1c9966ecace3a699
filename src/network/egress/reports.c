/* The relay's reports to the supervisor: sent in order, kept while the supervisor does not read, equal refusals counted together.
 * No report is dropped: while too many wait, nothing more is taken from the jail. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "network/egress/relay.h"

enum {
	TOGETHER_US = 1000000,
	ALONE = 8,       /* equal refusals in that time, before they are counted together */
	ENDS_US = 20000, /* for which ends of connections wait for each other: each report wakes the supervisor */
	ENDS_MAX = 64,
};

struct aj_egress_report {
	struct aj_egress_report *next;
	struct aj_egress_row *row; /* of an ended connection; NULL: use `event` */
	struct aj_egress_event event;
};

bool aj_reports_full(const struct aj_relay *relay)
{
	return relay->reports >= AJ_RELAY_REPORTS_MAX;
}

static void queue(struct aj_relay *relay, const struct aj_egress_event *event, struct aj_egress_row *row)
{
	struct aj_egress_report *report = calloc(1, sizeof *report);
	if (!report)
		abort(); /* fail closed: the supervisor sees the relay's end */
	report->row = row;
	if (event)
		report->event = *event;
	*relay->last_report = report;
	relay->last_report = &report->next;
	relay->reports++;
	if (!row || relay->reports >= ENDS_MAX)
		relay->report_us = 0;
	else if (relay->reports == 1)
		relay->report_us = aj_now_us() + ENDS_US;
}

static bool is_equal(const struct aj_egress_event *a, const struct aj_egress_event *b)
{
	return a->port == b->port && strcmp(a->name, b->name) == 0 && strcmp(a->address, b->address) == 0 &&
	       strcmp(a->why, b->why) == 0;
}

/* A refusal that came again is reported when its second is over. */
static void report_repeats(struct aj_relay *relay, struct aj_egress_event *recent)
{
	if (recent->count)
		queue(relay, recent, NULL);
	recent->count = 0;
}

void aj_reports_flush(struct aj_relay *relay)
{
	for (int i = 0; i < AJ_RELAY_RECENT; i++)
		report_repeats(relay, &relay->recent[i]);
}

static void on_repeat_timer(struct aj_timer *timer)
{
	aj_reports_flush(timer->arg);
}

/* Was the same refusal reported some times in this second? Then it is counted. Else it is reported at once, and remembered. */
static bool is_repeat(struct aj_relay *relay, const struct aj_egress_event *event)
{
	struct aj_egress_event *oldest = &relay->recent[0];
	for (int i = 0; i < AJ_RELAY_RECENT; i++) {
		struct aj_egress_event *recent = &relay->recent[i];
		if (event->opened_us - recent->opened_us < TOGETHER_US && is_equal(recent, event)) {
			if (relay->recent_times[i]++ < ALONE)
				return false;
			if (event->lookups) { /* these have to be reported before it */
				aj_reports_flush(relay);
				return false;
			}
			if (!recent->count++ && !relay->repeat_timer.place) {
				relay->repeat_timer = (struct aj_timer){ .fn = on_repeat_timer, .arg = relay };
				aj_loop_set(relay->loop, &relay->repeat_timer, event->opened_us + TOGETHER_US);
			}
			return true;
		}
		if (recent->opened_us < oldest->opened_us)
			oldest = recent;
	}
	report_repeats(relay, oldest);
	*oldest = *event;
	oldest->count = 0;
	relay->recent_times[oldest - relay->recent] = 1;
	return false;
}

void aj_report(struct aj_relay *relay, const struct aj_egress_event *event)
{
	if (event->kind == AJ_EGRESS_REFUSED && is_repeat(relay, event))
		return;
	queue(relay, event, NULL);
	/* Before the program notices: the result of a snippet that ends at once has the reason. The loop handles errors. */
	aj_reports_send(relay);
}

void aj_report_closed(struct aj_relay *relay, struct aj_egress_row *row)
{
	queue(relay, NULL, row);
}

struct aj_egress_event aj_refusal(const char *name, const char *address, uint16_t port, const char *why, ...)
{
	struct aj_egress_event event = { .kind = AJ_EGRESS_REFUSED, .count = 1, .port = port, .opened_us = aj_now_us() };
	va_list args;
	snprintf(event.name, sizeof event.name, "%s", name);
	snprintf(event.address, sizeof event.address, "%s", address);
	va_start(args, why);
	vsnprintf(event.why, sizeof event.why, why, args);
	va_end(args);
	return event;
}

struct aj_egress_event aj_unlisted(const char *name, const char *address, uint16_t port, const char *why)
{
	struct aj_egress_event event = aj_refusal(name, address, port, "%s", why);
	event.unlisted = true;
	return event;
}

int64_t aj_reports_due_us(const struct aj_relay *relay)
{
	return relay->first_report && !(relay->supervisor.events & EPOLLOUT) ? relay->report_us : INT64_MAX;
}

/* False: not sent, now or ever. */
static bool send_first(struct aj_relay *relay, int flags)
{
	struct aj_egress_report *report = relay->first_report;
	const struct aj_egress_event *event = report->row ? &report->row->event : &report->event;
	if (send(relay->supervisor.fd, event, sizeof *event, flags | MSG_NOSIGNAL) < 0)
		return false;
	if (report->row)
		aj_unsent_release(&relay->unsent, &report->row->row);
	if (!(relay->first_report = report->next))
		relay->last_report = &relay->first_report;
	relay->reports--;
	free(report);
	return true;
}

void aj_reports_send_last(struct aj_relay *relay)
{
	aj_reports_flush(relay);
	while (relay->first_report) {
		struct aj_egress_report *report = relay->first_report;
		if (report->row)
			relay->first_report = report->next;
		else if (!send_first(relay, 0))
			return;
	}
}

int aj_reports_send(struct aj_relay *relay)
{
	if (!relay->first_report || (relay->report_us && relay->report_us > aj_now_us()))
		return 0;
	bool was_full = aj_reports_full(relay);
	while (relay->first_report) {
		if (send_first(relay, MSG_DONTWAIT))
			continue;
		if (errno != EAGAIN && errno != ENOBUFS)
			return -1;
		break;
	}
	uint32_t events = EPOLLIN | (relay->first_report ? EPOLLOUT : 0);
	if (aj_loop_watch(relay->loop, &relay->supervisor, relay->supervisor.fd, events) < 0)
		return -1;
	if (was_full && !aj_reports_full(relay))
		aj_listeners_watch(relay);
	return 0;
}
