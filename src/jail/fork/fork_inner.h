/* The fork group and its branches, private to src/jail/fork/. */
#pragma once
#include "base/procfs.h"
#include "jail/fork/copier.h"
#include "jail/fork/group.h"

/* The watched descriptors. */
enum aj_fork_group_fd {
	AJ_FORK_GROUP_REPORT,
	AJ_FORK_GROUP_LISTENER,
	AJ_FORK_GROUP_COPIER,
	AJ_FORK_GROUP_INIT,
	AJ_FORK_GROUP_FDS
};

/* The one branch under way. Each state waits for one call of one process, and lets that call pass once. */
enum aj_branch_state {
	AJ_BRANCH_NONE,
	AJ_BRANCH_ASKED,     /* the original was asked to copy itself */
	AJ_BRANCH_COPIED,    /* waiting for the copy, a new child of init, to drop its capabilities */
	AJ_BRANCH_FURNISHED, /* the kernel holds that call while the helper works */
	AJ_BRANCH_ADMITTED,  /* waiting for the branch to enter its working directory */
	AJ_BRANCH_BORN,      /* a jail of its own, which must still report, on its own channel, that it is armed */
};

struct aj_fork {
	enum aj_branch_state state;
	struct aj_jail *source; /* NULL once the original is gone */
	unsigned depth;
	struct aj_process process; /* the branch's channels, and its pidfd */
	struct aj_process_ends ends;
	struct aj_process_info info;
	int proc_fd;
	struct aj_notification call; /* the call that holds the branch */
	struct aj_copier copier;
	struct aj_error err; /* why the branch failed, for its waiter */
};

struct aj_fork_group {
	LIST_ENTRY(aj_fork_group) listed;
	struct aj_loop *loop;
	struct aj_fork_owner owner;
	const struct aj_plan *plan; /* of all its jails */
	const struct aj_policy *policy;
	int own_filters;           /* ours */
	size_t filters;            /* the jail's */
	struct aj_process process; /* the shared part; without channels */
	int listener_fd;
	struct aj_locks locks;
	uint64_t reported;
	LIST_HEAD(, aj_jail) members;
	unsigned count;
	bool stopping;
	int64_t deadline_us; /* of the branch under way, or of the jail's end */

	struct aj_fork now;
	struct aj_jail_waiters waiters;
	struct aj_jail_waiter *waiter; /* whose branch is under way; NULL: none, or cancelled */
	struct aj_jail *arming;        /* the newborn branch */

	struct aj_quota quota; /* for reported calls and init's reports */
	struct aj_io io[AJ_FORK_GROUP_FDS];
	struct aj_timer timer; /* the next deadline, or the step that `changed` asks for */
	bool changed;          /* from outside of the group's own events */
};

/* --- fork.c --- */
/* Begin a branch of a member. -1 with err: nothing has begun. */
int aj_fork_begin(struct aj_fork_group *group, struct aj_jail *source, struct aj_error *err);
/* Handles a reported call if it is the next step of the branch under way; false: it is not. */
bool aj_fork_call(struct aj_fork_group *group, const struct aj_notification *call, const struct aj_process_info *info);
/* Read the helper's messages. */
void aj_fork_copier(struct aj_fork_group *group);
/* The branch under way takes too long. */
void aj_fork_late(struct aj_fork_group *group);
/* Fail the branch under way, if any, and kill what exists of it. */
void aj_fork_fail(struct aj_fork_group *group, int errnum, const char *why);
/* The branch is born: its jail, which is the caller's. */
struct aj_process aj_fork_take(struct aj_fork_group *group);

/* --- branch_requests.c --- */
/* Report the branch that has failed, or adopt the one that is born. */
void aj_fork_requests_settle(struct aj_fork_group *group);
/* Begin the next branch, unless one is under way. */
void aj_fork_requests_next(struct aj_fork_group *group);
/* The group is gone: fail all requests. */
void aj_fork_requests_drop(struct aj_fork_group *group);
/* The group is being ended: forget all requests, and give up the branch under way. */
void aj_fork_requests_stop(struct aj_fork_group *group);

/* --- members.c --- */
/* The member of this process; NULL: it is not in the group. */
struct aj_jail *aj_fork_group_find(const struct aj_fork_group *group, pid_t process);
void aj_fork_group_add(struct aj_fork_group *group, struct aj_jail *jail, pid_t inner);
/* Make the branch that is born a member. */
void aj_fork_group_join(struct aj_fork_group *group, struct aj_jail *branch);
/* Read one report of init's; false: there was none. */
bool aj_fork_group_report(struct aj_fork_group *group);

/* --- group.c --- */
/* Have the group's next step done from the loop. */
void aj_fork_group_changed(struct aj_fork_group *group);
/* Stop watching a descriptor and close it. */
void aj_fork_group_close(struct aj_fork_group *group, enum aj_fork_group_fd which, int *fd);
