/* How busy the service is, as numbers, and the faults that depend on it: every file of the service needs them.
 * It changes no state. */
#include "service/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void aj_server_gauges(const struct aj_server *s, uint64_t ret[AJ_GAUGES])
{
	struct aj_manager_counts jails;
	aj_manager_count(s->manager, &jails);
	const uint64_t now[AJ_GAUGES] = { [AJ_GAUGE_JAILS] = jails.jails,
		                          [AJ_GAUGE_PARKED] = jails.parked,
		                          [AJ_GAUGE_STARTING] = jails.starting,
		                          [AJ_GAUGE_ZYGOTES] = jails.zygotes,
		                          [AJ_GAUGE_ZYGOTE_DEATHS] = jails.zygote_deaths,
		                          [AJ_GAUGE_IN_USE] = s->in_use,
		                          [AJ_GAUGE_SESSIONS] = s->sessions,
		                          [AJ_GAUGE_WAITING] = s->waiting,
		                          [AJ_GAUGE_CLIENTS] = s->client_count };
	memcpy(ret, now, sizeof now);
}

static const char *const fixes[] = {
	[AJ_ROOM_CLIENTS] = "close idle connections, or raise --clients-max",
	[AJ_ROOM_SESSIONS] = "close unused sessions, end idle ones sooner (--idle), or raise --sessions-max",
	[AJ_ROOM_TENANT] = "close sessions of this tenant, or raise --tenant-sessions",
	[AJ_ROOM_JAILS] = ("close unused sessions, send fewer requests at a time, or raise --jails-max; a tool that runs code needs a "
	                   "second jail beside its caller's"),
	[AJ_ROOM_TENANT_JAILS] = "close unused sessions of this tenant, send fewer requests at a time, or raise --jails-max",
	[AJ_ROOM_QUEUE] = "send fewer requests at a time, or raise --queue-max",
	[AJ_ROOM_BYTES] = "send smaller requests, or fewer at a time",
	[AJ_ROOM_RUN] = "wait for the running snippet, interrupt it, or use another session",
};

/* Estimated time until a session ends: the mean duration divided by the number of open sessions; --idle until one has ended. */
static uint64_t session_ms(const struct aj_server *s)
{
	uint64_t ended = s->sessions_ended.count, mean_ms = ended ? s->sessions_ended.sum_us / ended / 1000 : s->config->idle_ms;
	return mean_ms / (s->sessions ? s->sessions : 1);
}

/* Estimated time until a jail is free: the mean run for each waiting request, divided by the jails that no session uses. */
static uint64_t run_ms(const struct aj_server *s)
{
	const struct aj_histogram *h = &s->metrics.run;
	uint64_t mean_ms = h->count ? h->sum_us / h->count / 1000 : 100, jails = s->config->jails_max;
	if (s->sessions >= jails)
		return session_ms(s);
	return (mean_ms + 1) * (s->waiting + 1) / (jails - s->sessions);
}

static uint64_t retry_ms(const struct aj_server *s, enum aj_room room)
{
	enum { LEAST_MS = 10, MOST_MS = 30000 };
	uint64_t ms = room == AJ_ROOM_SESSIONS || room == AJ_ROOM_TENANT || room == AJ_ROOM_CLIENTS ? session_ms(s) : run_ms(s);
	return ms < LEAST_MS ? LEAST_MS : ms > MOST_MS ? MOST_MS : ms;
}

int aj_server_busy(const struct aj_server *s, struct aj_fault *fault, enum aj_room room, const char *fmt, ...)
{
	char text[sizeof fault->message];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	aj_fault(fault, AJ_CODE_BUSY, "%s", text);
	snprintf(fault->fix, sizeof fault->fix, "%s", fixes[room]);
	fault->retry_ms = retry_ms(s, room);
	return -1;
}

int aj_server_fault(const struct aj_server *s, const struct aj_error *err, struct aj_fault *fault)
{
	aj_fault_from(fault, err);
	if (fault->code != AJ_CODE_BUSY)
		return -1;
	fault->retry_ms = retry_ms(s, AJ_ROOM_JAILS);
	if (fault->retry_ms < err->wait_ms)
		fault->retry_ms = err->wait_ms;
	if (!*fault->fix) /* the session itself is in use */
		snprintf(fault->fix, sizeof fault->fix, "%s", fixes[AJ_ROOM_RUN]);
	return -1;
}
