/* The PID namespace of a zygote: PID 1 of it is a process of ours, the holder, which runs no foreign code and waits.
 * A zygote cannot be that PID 1, since the kernel lets no PID 1 make processes for its parent. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct aj_nursery;
struct aj_steps;

/* In the zygote's builder, in its user namespace: makes the namespace, the holder, and the process that becomes the zygote, which
 * returns 0. All are children of the supervisor; the caller itself says so to the supervisor (AJ_MSG_PARTED), and ends. -1 with err. */
int aj_holder_part(struct aj_steps *walls, struct aj_error *err);

/* What the supervisor keeps of it: as long as a jail lives that was born there, as the kernel ends them with it. */
struct aj_holder;

/* Waits for what aj_holder_part() says; `builder_pidfd` is its caller, a child of ours, which is waited for. The zygote itself is the
 * first to use the holder; *ret_pid and *ret_pidfd are the zygote's. `nursery` is the holder's from here on. NULL with err, nobody left, and the
 * nursery still the caller's. */
struct aj_holder *aj_holder_take(int report_fd, int builder_pidfd, const struct aj_nursery *nursery, pid_t *ret_pid,
                                 int *ret_pidfd, struct aj_error *err);

/* Where the zygote and its jails are; and how many of these there are. */
struct aj_nursery *aj_holder_nursery(struct aj_holder *holder);
size_t aj_holder_jails(const struct aj_holder *holder);

/* NULL when `pid`, a child of ours, is PID 1 of a namespace directly below the holder's, and no jail that is known already; then it is
 * known, and uses the holder until aj_holder_leave(). Else what is wrong. */
const char *aj_holder_admit(struct aj_holder *holder, pid_t pid);

/* `pid` is gone. With the last one the holder ends, and with it whatever is left in its namespace. */
void aj_holder_leave(struct aj_holder *holder, pid_t pid);

/* The zygote, which was sent SIGKILL, makes nobody any more: ends whatever it left behind that is no known jail, and waits for what is ours
 * to wait for, the zygote too. */
void aj_holder_bereave(struct aj_holder *holder, int zygote_pidfd);
