/* What a service in one process and the front of several shards share: sockets, signals, the log, and the service manager's
 * notifications. */
#pragma once
#include <signal.h>

#include "base/message.h"
#include "service/metrics/metrics.h"
#include "service/service_config.h"
#include "service/sockets/listen.h"

/* The sockets of the configuration, inherited or created: of clients, and of metrics (fd -1 if not requested). -1 with err: the
 * caller closes those that were opened. */
int aj_service_listen(const struct aj_server_config *config, struct aj_listener *clients, struct aj_listener *metrics,
                      struct aj_error *err);
/* Only the inherited ones of these. */
int aj_service_inherit(const struct aj_server_config *config, struct aj_listener *clients, struct aj_listener *metrics,
                       struct aj_error *err);
/* Where clients connect, as the log names it. */
const char *aj_service_place(const struct aj_server_config *config);

/* Block the signals that a service handles, and return a descriptor that reports them; -1 with err. *ret_before: the mask
 * before. */
int aj_service_signals(sigset_t *ret_before, struct aj_error *err);
/* The next signal that arrived; 0: none. */
int aj_service_signal(int fd);
/* Log what the signal means, and tell the service manager: true, stop, at once if the service is stopping already. */
bool aj_service_stops(const struct aj_server_config *config, int signal, bool stopping);
/* Raise RLIMIT_NOFILE as far as possible. */
void aj_service_raise_descriptors(void);
/* Log a warning if RLIMIT_NOFILE is too small for --jails-max. */
void aj_service_check_descriptors(const struct aj_server_config *config);

/* The next message between a shard and the front, with its descriptors, which the caller owns. 1; 0: none now; -1: the other
 * process has ended. A message of another length has AJ_SHARD_NONE as its order. */
int aj_shard_receive(int socket, struct aj_shard_message *ret, struct aj_passed *ret_passed);

/* The keep-alive of systemd's watchdog, with these values in the status line. */
void aj_service_alive(const struct aj_server_config *config, const uint64_t gauges[AJ_GAUGES]);
/* The page for Prometheus. */
void aj_service_print(const struct aj_metrics *metrics, const uint64_t gauges[AJ_GAUGES], struct aj_buffer *out);

void aj_service_log(const struct aj_server_config *config, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Send a state to the service manager; a failure is logged. */
void aj_service_notify(const struct aj_server_config *config, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
