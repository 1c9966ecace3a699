/* A fork group: the guests of one jail once there can be more than one, the first and its branches. The group owns and watches
 * what they share: the jail's init, its cgroup and the listener of its filter. The rest of a branch is watched as for any
 * jail. */
#pragma once
#include "jail/jail.h"
#include "jail/waiter.h"

/* The owner's functions: a branch is about to be handed to its waiter; a branch failed, and the owner must end it. */
struct aj_fork_owner {
	void (*born)(void *arg, struct aj_jail *branch);
	void (*failed)(void *arg, struct aj_jail *branch);
	void *arg;
};

struct aj_fork_group;
LIST_HEAD(aj_fork_groups, aj_fork_group);

/* The group of an armed, lasting jail whose plan allows branches. It is made with the jail as its first member if there is none,
 * and stays in the list until its last jail has ended. `filters`: see aj_channel_open(). NULL with err, and nothing changed. */
struct aj_fork_group *aj_fork_group_get(struct aj_fork_groups *list, const struct aj_fork_owner *owner, struct aj_jail *jail,
                                        int filters, struct aj_error *err);
/* Request a branch of a member, which must stay idle until the waiter is called, from the loop. */
void aj_fork_group_request(struct aj_fork_group *group, struct aj_jail *source, struct aj_jail_waiter *waiter);
/* Cancel a request; false: the group has no such waiter. A branch that is under way is completed, and then ended. */
bool aj_fork_groups_cancel(const struct aj_fork_groups *list, struct aj_jail_waiter *waiter);
/* The owner is about to end this jail, or it is gone: fails the queued requests for branches of it. */
void aj_fork_groups_lose(const struct aj_fork_groups *list, struct aj_jail *jail);

/* Kill all groups; free them once their jails are gone. */
void aj_fork_groups_stop(const struct aj_fork_groups *list);
void aj_fork_groups_free(struct aj_fork_groups *list);
