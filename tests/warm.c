/* `agentjail` whose `exec` takes its jail from a zygote: linked with this file in the place of cli/run_jail.c, so that the scripts
 * that test a cold start test a warm one. The real program runs the jails that cannot be warm, and says why.
 * Its `serve` waits for a zygote as long as AJ_READY_MS says, which no option sets. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/command.h"
#include "cli/run_jail.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/show.h"
#include "cli/terminal/summary.h"
#include "jail/audit/trail.h"
#include "jail/pool/pool.h"
#include "policy/host/paths.h"
#include "session/manager.h"

struct aj_manager *__real_aj_manager_new(struct aj_loop *loop, const struct aj_manager_config *config, struct aj_error *err);
struct aj_manager *__wrap_aj_manager_new(struct aj_loop *loop, const struct aj_manager_config *config, struct aj_error *err);

struct aj_manager *__wrap_aj_manager_new(struct aj_loop *loop, const struct aj_manager_config *config, struct aj_error *err)
{
	struct aj_manager_config patient = *config;
	const char *ready_ms = getenv("AJ_READY_MS");
	if (ready_ms)
		patient.ready_ms = (unsigned)strtoul(ready_ms, NULL, 10);
	return __real_aj_manager_new(loop, &patient, err);
}

static const struct aj_request *asked;
void __real_aj_plan_preload(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request);
void __wrap_aj_plan_preload(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request);

void __wrap_aj_plan_preload(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request)
{
	__real_aj_plan_preload(plan, arena, policy, request->lasting && asked ? asked : request);
}

static struct aj_jail *jail;
static unsigned seen;
static struct aj_error failed;

static void on_event(struct aj_jail *w, unsigned found)
{
	(void)w;
	seen |= found;
}

static void on_jail(struct aj_jail_waiter *waiter, struct aj_jail *w, const struct aj_error *err)
{
	(void)waiter;
	jail = w;
	if (w)
		w->on_event = on_event;
	else
		failed = *err;
}

_Noreturn static void run_cold(void)
{
	char *argv[256], text[8192];
	size_t count = 0, bytes = 0;
	FILE *file = fopen("/proc/self/cmdline", "r");
	bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
	text[bytes] = '\0';
	for (char *at = text; at < text + bytes && count < 255; at += strlen(at) + 1)
		argv[count++] = at;
	argv[count] = NULL;
	execv(getenv("AGENTJAIL_COLD"), argv);
	perror("AGENTJAIL_COLD");
	_exit(125);
}

int aj_run_command(struct aj_options *o)
{
	struct aj_error err = { 0 };
	struct aj_host host;
	struct aj_plan plan;
	struct aj_trail trail;
	if (!o->request.is_snippet || o->dry_run || o->request.binds.count || o->request.env.count || o->output)
		run_cold();
	if (!o->request.id)
		o->request.id = "00000000000000aa";
	if (aj_find_rootfs(&o->request.rootfs, o->loaded.policy.rootfs, o->site.rootfs, o->arena, &err) < 0 ||
	    aj_host_gather(&host, o->arena, o->request.cgroup, &err) < 0 ||
	    aj_plan_build(&plan, o->arena, &o->loaded.policy, &o->request, &host, &err) < 0)
		return aj_print_error(&err);
	if (aj_plan_warm_why_not(&plan))
		run_cold();
	asked = &o->request;
	struct aj_loop *loop = aj_loop_new();
	struct aj_pool_config config = {
		.policy = &o->loaded.policy, .host = &host, .rootfs = o->request.rootfs, .cgroup = o->request.cgroup, .depth = 1
	};
	struct aj_pool *pool = aj_pool_new(loop, &config, &err);
	struct aj_jail_waiter waiter = { .fn = on_jail };
	if (!pool)
		return aj_print_error(&err);
	aj_pool_request(pool, &waiter);
	while (!jail && !failed.exit_code)
		aj_loop_turn(loop, INT64_MAX);
	if (!jail) {
		aj_pool_free(pool);
		/* Some tests have a runner of their own, which cannot be a zygote. */
		if (strcmp(failed.step, "zygote") == 0)
			run_cold();
		return aj_print_error(&failed);
	}
	struct aj_show show;
	aj_show_init(&show, &plan);
	if (!o->json) {
		jail->output = aj_show_output;
		jail->output_arg = &show;
	}
	if (aj_trail_start(&trail, &o->site, &o->loaded.policy, &o->request, &plan, &err) < 0 ||
	    aj_jail_begin(jail, &o->request, aj_now_us(), &err) < 0) {
		aj_pool_return(pool, jail);
		aj_pool_free(pool);
		return aj_print_error(&err);
	}
	while (!(seen & (AJ_JAIL_ANSWERED | AJ_JAIL_GONE)))
		aj_loop_turn(loop, INT64_MAX);
	struct aj_result *result = &jail->outcome.result;
	/* It was not waited for. */
	if (!(seen & AJ_JAIL_GONE))
		result->exit_code = 0;
	int code = aj_status_exit_code(result, &plan);
	if (aj_trail_end(&trail, &o->loaded.policy, &o->request, &plan, result, &err) < 0)
		code = aj_print_error(&err);
	if (o->json) {
		json_t *doc = aj_result_json(result, &plan, &o->loaded.policy, &o->request);
		json_dumpf(doc, stdout, JSON_COMPACT | (isatty(1) ? JSON_ENSURE_ASCII : 0));
		json_decref(doc);
		putchar('\n');
	} else {
		aj_show_result(&show, result);
		if (result->status != AJ_STATUS_OK)
			aj_show_refusals(stderr, result);
	}
	fflush(stdout);
	aj_pool_return(pool, jail);
	aj_pool_free(pool);
	aj_loop_free(loop);
	return code;
}
