/* How busy the service is, as numbers, and the faults that depend on it: every file of the room needs them.
 * It changes no state. */
#include "serve/state.h"

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

/* The time of a mean run for each request that waits, by as many jails as there may be. */
static uint64_t retry_ms(const struct aj_server *s)
{
	const struct aj_histogram *h = &s->metrics.run;
	uint64_t mean_ms = h->count ? h->sum_us / h->count / 1000 : 100, room = s->config->jails_max;
	uint64_t ms = (mean_ms + 1) * (s->waiting + 1) / (room ? room : 1);
	return ms < 10 ? 10 : ms > 5000 ? 5000 : ms;
}

int aj_server_busy(const struct aj_server *s, struct aj_fault *fault, const char *fmt, ...)
{
	char text[sizeof fault->message];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	aj_fault(fault, AJ_CODE_BUSY, "%s", text);
	fault->retry_ms = retry_ms(s);
	return -1;
}

int aj_server_fault(const struct aj_server *s, const struct aj_error *err, struct aj_fault *fault)
{
	aj_fault_from(fault, err);
	if (fault->code == AJ_CODE_BUSY)
		fault->retry_ms = retry_ms(s);
	return -1;
}
