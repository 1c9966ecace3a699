/* A fork group: the guests of one jail once there can be more than one, the first and its branches. They share the jail's init, its
 * cgroup and the listener of its filter, which the group owns; all else of a branch is watched as for any other jail. */
#pragma once
#include "base/procfs.h"
#include "fork/copier.h"
#include "jail/run.h"

/* The descriptors to poll. */
enum aj_fork_group_fd {
	AJ_FORK_GROUP_REPORT,
	AJ_FORK_GROUP_LISTENER,
	AJ_FORK_GROUP_COPIER,
	AJ_FORK_GROUP_INIT,
	AJ_FORK_GROUP_FDS
};

/* Results of a step, as bits. */
enum {
	AJ_FORK_GROUP_BORN = 1,   /* a branch is ready: aj_fork_group_take() */
	AJ_FORK_GROUP_FAILED = 2, /* group->now.err says why there is no branch */
	AJ_FORK_GROUP_GONE = 4,   /* all guests and init are gone: free the group */
};

/* The one branch under way. Each state waits for one call of one process, and lets that call pass once. */
enum aj_branch_state {
	AJ_BRANCH_NONE,
	AJ_BRANCH_ASKED,     /* the original was asked to copy itself */
	AJ_BRANCH_COPIED,    /* waiting for the copy, a new child of init, to drop its capabilities */
	AJ_BRANCH_FURNISHED, /* the kernel holds that call while the helper works */
	AJ_BRANCH_ADMITTED,  /* waiting for the branch to enter its working directory */
	AJ_BRANCH_BORN,      /* waiting for the branch to report, on its own channel, that it is armed */
};

struct aj_fork {
	enum aj_branch_state state;
	struct aj_run *source; /* NULL once the original is gone */
	unsigned depth;
	struct aj_jail jail; /* the branch's channels, and its pidfd */
	struct aj_jail_ends ends;
	struct aj_process_info info;
	int proc_fd;
	struct aj_notification call; /* the call that holds the branch */
	struct aj_copier copier;
	struct aj_error err;
};

struct aj_fork_group {
	const struct aj_plan *plan;
	size_t filters;
	struct aj_jail jail; /* the shared part; without channels */
	int listener_fd;
	struct aj_locks locks;
	uint64_t reported;
	struct aj_run *runs;
	unsigned count;
	struct aj_fork now;
	int64_t deadline_us;
	bool stopping;
	/* Something changed outside of a step: call aj_fork_group_check() and aj_fork_group_poll() again. */
	void (*changed)(void *arg);
	/* Descriptors of the group are about to be closed: stop watching all of them, see jail/run.h. */
	void (*closing)(void *arg);
	void *changed_arg;
};

/* Make an armed, lasting jail whose plan allows branches the first of a new group, which takes over init, cgroup and listener. -1 with
 * err, and nothing changed. */
int aj_fork_group_create(struct aj_fork_group *group, struct aj_run *first, struct aj_error *err);
/* Begin a branch of a member, which must stay idle until the branch is ready. -1 with err: nothing has begun. */
int aj_fork_group_branch(struct aj_fork_group *group, struct aj_run *source, struct aj_error *err);
/* Cancel the branch under way. */
void aj_fork_group_cancel(struct aj_fork_group *group);
/* After AJ_FORK_GROUP_BORN: take the jail; once its run is open, join it to the group. */
struct aj_jail aj_fork_group_take(struct aj_fork_group *group);
void aj_fork_group_join(struct aj_fork_group *group, struct aj_run *branch);

void aj_fork_group_poll(const struct aj_fork_group *group, struct pollfd fds[AJ_FORK_GROUP_FDS]);
unsigned aj_fork_group_step(struct aj_fork_group *group, const struct pollfd fds[AJ_FORK_GROUP_FDS]);
unsigned aj_fork_group_check(struct aj_fork_group *group);
int64_t aj_fork_group_deadline_us(const struct aj_fork_group *group);
unsigned aj_fork_group_due(struct aj_fork_group *group);

/* Kill and reap the rest of the group. */
void aj_fork_group_end(struct aj_fork_group *group);
