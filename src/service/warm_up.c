/* Opens and closes one jail of each policy when the service starts: its zygote then lives before the first client comes.
 * No request waits for that, and a policy whose jails cannot be built is logged, and still served. */
#include <stdlib.h>

#include "service/process.h"
#include "service/state.h"

static void on_warm(struct aj_session *session, void *arg, const struct aj_error *err)
{
	struct aj_server *s = arg;
	char text[600];
	if (err)
		aj_service_log(s->config, "no jail could be made: %s%s%s", aj_error_text(err, text, sizeof text),
		               *err->fix ? "; " : "", err->fix);
	for (size_t i = 0; i < aj_manager_policies(s->manager); i++)
		if (s->warming[i] == session)
			s->warming[i] = NULL;
	aj_session_close(session);
}

void aj_warm_up(struct aj_timer *timer)
{
	static const struct aj_session_events events = { .opened = on_warm };
	struct aj_server *s = timer->arg;
	char text[600];
	s->warming = calloc(s->config->policy_count + 1, sizeof *s->warming);
	if (!s->warming)
		abort();
	for (size_t i = 0; s->config->parked && aj_shard_is_home(s, NULL) && i < aj_manager_policies(s->manager); i++) {
		struct aj_session_params place = { .policy = aj_manager_policy_name(s->manager, i) };
		struct aj_error err = { 0 };
		s->warming[i] = aj_session_open(s->manager, &place, &events, s, &err);
		if (!s->warming[i])
			aj_service_log(s->config, "%s is not kept warm: %s", place.policy,
			               aj_error_text(&err, text, sizeof text));
	}
}

void aj_warm_up_end(struct aj_server *s)
{
	for (size_t i = 0; s->warming && i < s->config->policy_count; i++)
		if (s->warming[i])
			aj_session_close(s->warming[i]);
	free(s->warming);
}
