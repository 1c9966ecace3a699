/* Sockets, signals, log lines and notifications of a service's process.
 * It accepts no connection, and ends nothing: the caller decides what a signal means. */
#include "service/process.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "service/protocol/fault.h"

enum { DESCRIPTORS = 65536 };

int aj_service_inherit(const struct aj_server_config *config, struct aj_listener *clients, struct aj_listener *metrics,
                       struct aj_error *err)
{
	const struct aj_listen_fds *fds = &config->fds;
	for (size_t i = 0; i < fds->count; i++) {
		bool for_metrics = strcmp(fds->items[i].name, "metrics") == 0;
		struct aj_listener *to = for_metrics ? metrics : clients;
		if (to->fd >= 0)
			return aj_fail(err, AJ_EXIT_SETUP, "activation", 0, "two sockets were passed for %s",
			               for_metrics ? "metrics" : "clients");
		if (for_metrics ? config->metrics != NULL : config->socket_given)
			return aj_fail(err, AJ_EXIT_USAGE, "activation", 0,
			               "a socket was passed by the service manager, and %s names another",
			               for_metrics ? "--metrics" : "--socket");
		if (aj_listen_inherited(to, fds->items[i].fd, for_metrics, err) < 0)
			return -1;
	}
	return 0;
}

int aj_service_listen(const struct aj_server_config *config, struct aj_listener *clients, struct aj_listener *metrics,
                      struct aj_error *err)
{
	if (aj_service_inherit(config, clients, metrics, err) < 0)
		return -1;
	if (clients->fd < 0 && aj_listen_unix(clients, config->socket, err) < 0)
		return -1;
	return config->metrics ? aj_listen_metrics(metrics, config->metrics, err) : 0;
}

const char *aj_service_place(const struct aj_server_config *config)
{
	return config->connection >= 0 ? "the connection that was passed"
	     : config->fds.count       ? "the socket that the service manager passed"
	                               : config->socket;
}

int aj_service_signals(sigset_t *ret_before, struct aj_error *err)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, ret_before);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : aj_fail(err, AJ_EXIT_SETUP, "signals", errno, "wait for them");
}

int aj_service_signal(int fd)
{
	struct signalfd_siginfo info;
	return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

int aj_shard_receive(int socket, struct aj_shard_message *ret, struct aj_passed *ret_passed)
{
	pid_t sender;
	ssize_t n = aj_recv_from(socket, ret, sizeof *ret, 0, &sender, ret_passed);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0 && n != (ssize_t)sizeof *ret)
		ret->order = AJ_SHARD_NONE;
	return n > 0 ? 1 : -1;
}

void aj_service_raise_descriptors(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS)
		return;
	limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void aj_service_check_descriptors(const struct aj_server_config *config)
{
	enum { OF_SERVICE = 64, OF_JAIL = 8 }; /* measured: 7, and 8 for a session whose files were read */
	uint64_t others = OF_SERVICE + (config->connection < 0 ? config->clients_max : 0),
		 jails = config->jails_max + config->parked;
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= others + jails * OF_JAIL)
		return;
	aj_service_log(config,
	               "this process may have %lu open files, and %lu jails need about %lu: with more than about %lu jails, requests fail "
	               "as busy; raise the limit (`ulimit -n`, or LimitNOFILE= of the systemd unit), or lower --jails-max",
	               (unsigned long)limit.rlim_cur, (unsigned long)jails, (unsigned long)(others + jails * OF_JAIL),
	               (unsigned long)(limit.rlim_cur > others ? (limit.rlim_cur - others) / OF_JAIL : 0));
}

void aj_service_log(const struct aj_server_config *config, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	config->log(config->log_arg, line);
}

void aj_service_notify(const struct aj_server_config *config, const char *fmt, ...)
{
	char state[300];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(state, sizeof state, fmt, ap);
	va_end(ap);
	if (aj_sd_notify(config->notify, state) < 0)
		aj_service_log(config, "the service manager could not be notified: %s", strerror(errno));
}

void aj_service_alive(const struct aj_server_config *config, const uint64_t gauges[AJ_GAUGES])
{
	aj_service_notify(config, "WATCHDOG=1\nSTATUS=%lu clients, %lu sessions, %lu jails in use, %lu requests waiting",
	                  (unsigned long)gauges[AJ_GAUGE_CLIENTS], (unsigned long)gauges[AJ_GAUGE_SESSIONS],
	                  (unsigned long)gauges[AJ_GAUGE_IN_USE], (unsigned long)gauges[AJ_GAUGE_WAITING]);
}

void aj_service_print(const struct aj_metrics *metrics, const uint64_t gauges[AJ_GAUGES], struct aj_buffer *out)
{
	struct aj_metrics_now now;
	memcpy(now.gauges, gauges, sizeof now.gauges);
	_Static_assert((int)AJ_CODES <= (int)AJ_METRIC_CODES, "each code is counted");
	for (int code = 0; code < AJ_METRIC_CODES; code++)
		now.codes[code] = code < AJ_CODES ? aj_fault_name((enum aj_fault_code)code) : NULL;
	aj_metrics_print(metrics, &now, out);
}

bool aj_service_stops(const struct aj_server_config *config, int signal, bool stopping)
{
	if (signal == SIGHUP)
		aj_service_log(config, "SIGHUP has no effect: policies are read again whenever their files change");
	if (signal == 0 || signal == SIGHUP)
		return false;
	if (!stopping) {
		aj_service_log(config, "signal %d: stopping", signal);
		aj_service_notify(config, "STOPPING=1\nSTATUS=stopping");
	}
	return true;
}
