/* Asks systemd to put one process into a scope of its own with Delegate=yes: agentjail-scope PID. The user's systemd, or for root
 * the system's.
 * A separate program, as libsystemd comes without a static library; it touches no cgroup itself.
 *
 * Exits with 0 and the scope's name on stdout when the process is in the scope; else 1 and one line on stderr, without the
 * program's name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#define SYSTEMD "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"
enum { PATIENCE_US = 4000000 };

struct wait {
	const char *job;
	char result[64]; /* "" while the job runs */
};

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	return EXIT_FAILURE;
}

static int on_job_removed(sd_bus_message *m, void *arg, sd_bus_error *error)
{
	struct wait *w = arg;
	const char *job, *result;
	unsigned id;
	(void)error;
	if (sd_bus_message_read(m, "uoss", &id, &job, NULL, &result) >= 0 && w->job && strcmp(job, w->job) == 0)
		snprintf(w->result, sizeof w->result, "%s", result);
	return 0;
}

static long now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int start_scope(sd_bus *bus, const char *unit, unsigned pid, sd_bus_message **ret_reply, sd_bus_error *error)
{
	sd_bus_message *m = NULL;
	int r = sd_bus_message_new_method_call(bus, &m, SYSTEMD, "StartTransientUnit");
	if (r >= 0)
		r = sd_bus_message_append(m, "ssa(sv)a(sa(sv))", unit, "fail", 4, "Description", "s", "agentjail run", "Delegate",
		                          "b", 1, "CollectMode", "s", "inactive-or-failed", "PIDs", "au", 1, pid, 0);
	if (r >= 0)
		r = sd_bus_call(bus, m, PATIENCE_US, error, ret_reply);
	sd_bus_message_unref(m);
	return r;
}

int main(int argc, char **argv)
{
	char unit[96], runtime[64];
	unsigned pid;
	int used = 0;
	if (argc != 2 || sscanf(argv[1], "%u%n", &pid, &used) != 1 || argv[1][used] || pid <= 1)
		return fail("usage", "agentjail-scope PID");
	/* The variable is not set without a login session, as under su; the bus exists all the same when the user lingers. */
	snprintf(runtime, sizeof runtime, "/run/user/%u", getuid());
	setenv("XDG_RUNTIME_DIR", runtime, 0);
	sd_bus *bus = NULL;
	int r = geteuid() == 0 ? sd_bus_open_system(&bus) : sd_bus_open_user(&bus);
	if (r < 0)
		return fail(geteuid() == 0 ? "the system's message bus" : "the user's message bus", strerror(-r));
	struct wait wait = { 0 };
	/* Subscribe before the call: systemd's job may end before the reply arrives. */
	r = sd_bus_match_signal(bus, NULL, SYSTEMD, "JobRemoved", on_job_removed, &wait);
	if (r < 0)
		return fail("listening to systemd", strerror(-r));
	snprintf(unit, sizeof unit, "agentjail-%u-%lx.scope", pid, (unsigned long)now_us());
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	r = start_scope(bus, unit, pid, &reply, &error);
	if (r < 0)
		return fail("StartTransientUnit", error.message ? error.message : strerror(-r));
	if ((r = sd_bus_message_read(reply, "o", &wait.job)) < 0)
		return fail("systemd's answer", strerror(-r));
	for (long until = now_us() + PATIENCE_US; !wait.result[0];) {
		if ((r = sd_bus_process(bus, NULL)) < 0)
			return fail("the message bus", strerror(-r));
		long left = until - now_us();
		if (left <= 0)
			return fail(unit, "systemd did not start it in time");
		if (r == 0 && (r = sd_bus_wait(bus, (uint64_t)left)) < 0)
			return fail("the message bus", strerror(-r));
	}
	if (strcmp(wait.result, "done") != 0)
		return fail(unit, wait.result);
	puts(unit);
	return EXIT_SUCCESS;
}
