/* `agentjail serve`: makes the configuration of service/ from options and the service manager's variables, and prints the log. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/help.h"
#include "service/front/front.h"
#include "service/server.h"

#define ROOT_FOLDER "/run/agentjail"
#define NAME "agentjail.sock"

/* `ret_made`: we created the folder, so it is removed at the end. */
static const char *default_socket(struct aj_arena *arena, bool *ret_made, struct aj_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	if (geteuid() == 0) {
		*ret_made = mkdir(ROOT_FOLDER, 0755) == 0; /* another error shows when the socket is bound */
		return ROOT_FOLDER "/" NAME;
	}
	if (runtime && runtime[0] == '/')
		return aj_printf(arena, "%s/" NAME, runtime);
	aj_fail(err, AJ_EXIT_USAGE, "socket", 0, "no socket is named, and XDG_RUNTIME_DIR is not set");
	aj_advise(err, "name the socket with --socket PATH");
	return NULL;
}

/* Log to stderr. Lines may quote clients' text, so their control characters are escaped. */
static void log_line(void *arg, const char *line)
{
	struct aj_arena arena = { 0 };
	(void)arg;
	fprintf(stderr, "agentjail: %s\n", aj_line(&arena, line));
	aj_arena_free(&arena);
}

/* Read the service manager's variables, and remove them from the environment: they are meant for this process alone. */
static int read_manager_variables(struct aj_server_config *config, struct aj_arena *arena, struct aj_error *err)
{
	static const char *const names[] = { "LISTEN_PID",    "LISTEN_FDS",    "LISTEN_FDNAMES",
		                             "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID" };
	const char *notify = getenv("NOTIFY_SOCKET");
	bool good = aj_listen_fds_parse(getenv("LISTEN_PID"), getenv("LISTEN_FDS"), getenv("LISTEN_FDNAMES"), getpid(),
	                                &config->fds);
	config->notify = notify ? aj_strdup(arena, notify) : NULL;
	config->watchdog_us = notify ? aj_watchdog_us(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"), getpid()) : 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unsetenv(names[i]);
	return good ? 0
	            : aj_fail(err, AJ_EXIT_USAGE, "activation", 0,
	                      "LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES contradict each other");
}

static int configure(struct aj_options *o, bool *ret_made, struct aj_error *err)
{
	struct aj_serve_options *s = &o->serving;
	struct aj_server_config *config = &s->config;
	bool main_given = false;
	if (aj_serve_options_relate(s, err) < 0 || read_manager_variables(config, o->arena, err) < 0)
		return -1;
	for (size_t i = 0; i < config->fds.count; i++)
		main_given |= strcmp(config->fds.items[i].name, "metrics") != 0;
	config->socket_given = config->socket != NULL;
	if (config->connection >= 0 && config->socket_given)
		return aj_fail(err, AJ_EXIT_USAGE, "options", 0,
		               "--connection serves one connection, and --socket waits for others");
	if (config->connection >= 0 && config->shards > 1)
		return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "--connection serves one connection, and --shards is for many");
	if (config->connection < 0 && !config->socket_given && !main_given &&
	    !(config->socket = default_socket(o->arena, ret_made, err)))
		return -1;
	if (s->asks.count == 0)
		AJ_PUSH(o->arena, &s->asks);
	for (size_t i = 0; i < s->asks.count; i++) {
		struct aj_ask *ask = &s->asks.items[i];
		ask->settings.items = o->ask.settings.items;
		ask->settings.count = o->ask.settings.count;
	}
	config->policies = s->asks.items;
	config->policy_count = s->asks.count;
	config->site = o->config;
	config->rootfs = o->request.rootfs;
	config->cgroup = o->request.cgroup;
	config->log = log_line;
	return 0;
}

static int run(const struct aj_server_config *config, struct aj_error *err)
{
	return config->shards > 1 ? aj_front_run(config, err) : aj_server_run(config, err);
}

int aj_cmd_serve(int argc, char **argv)
{
	struct aj_arena arena = { 0 };
	struct aj_error err = { 0 };
	struct aj_options o = { .arena = &arena, .request.is_snippet = true };
	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		printf("Usage: agentjail serve [options]\n\n"
		       "Keeps jails ready, and runs snippets and sessions for the clients of a Unix\n"
		       "socket, as docs/reference/protocol.md says. Clients must be the service's\n"
		       "own user or root. SIGTERM stops the service when the running snippets have\n"
		       "finished; a second SIGTERM stops it at once.\n");
		aj_options_help(AJ_FOR_SERVE, stdout);
		aj_help_heading(stdout, "Examples");
		fputs("  agentjail serve --policy snippet --policy data-analysis --parked 4\n"
		      "  agentjail serve --socket /run/user/1000/jails.sock --metrics 127.0.0.1:9100\n",
		      stdout);
		return 0;
	}
	aj_serve_options_defaults(&o.serving);
	int first = aj_options_parse(&o, AJ_FOR_SERVE, argc, argv, &err);
	if (first >= 0 && first < argc)
		first = aj_fail(&err, AJ_EXIT_USAGE, "options", 0, "unexpected `%s`", argv[first]);
	int code = 0;
	bool made = false;
	if (first < 0 || configure(&o, &made, &err) < 0 || run(&o.serving.config, &err) < 0)
		code = aj_print_error(&err);
	if (made)
		rmdir(ROOT_FOLDER);
	aj_arena_free(&arena);
	return code;
}
