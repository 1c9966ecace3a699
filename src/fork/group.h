/* The guests of one jail once there may be more than one: the first, and the branches of it. They have the jail's init, its cgroup and
 * the listener of its filter in common, which are the family's; everything else of a branch is watched as of any other jail. */
#pragma once
#include "base/procfs.h"
#include "fork/copier.h"
#include "jail/run.h"

/* What is waited for. */
enum aj_fork_group_fd {
	AJ_FORK_GROUP_REPORT,
	AJ_FORK_GROUP_LISTENER,
	AJ_FORK_GROUP_COPIER,
	AJ_FORK_GROUP_INIT,
	AJ_FORK_GROUP_FDS
};

/* What a step found out, as bits. */
enum {
	AJ_FORK_GROUP_BORN = 1,   /* aj_fork_group_take() has it */
	AJ_FORK_GROUP_FAILED = 2, /* family->now.err says why there is no branch */
	AJ_FORK_GROUP_GONE = 4,   /* nobody is left, and init is gone too: free it */
};

/* The one branch under way. Each state waits for one call of one process, and lets that pass once. */
enum aj_branch_state {
	AJ_BRANCH_NONE,
	AJ_BRANCH_ASKED,     /* the original was asked; it will copy itself */
	AJ_BRANCH_COPIED,    /* a new child of init will drop its capabilities */
	AJ_BRANCH_FURNISHED, /* it does, and has to wait: the helper works */
	AJ_BRANCH_ADMITTED,  /* it will enter its folder */
	AJ_BRANCH_BORN,      /* and says that it is armed on its own channel */
};

struct aj_fork {
	enum aj_branch_state state;
	struct aj_run *source; /* NULL once it is gone */
	unsigned depth;
	struct aj_jail jail; /* the branch's channels, and its pidfd */
	struct aj_jail_ends ends;
	struct aj_process_info who;
	int proc_fd;
	struct aj_notification call; /* in which it waits */
	struct aj_copier copier;
	struct aj_error err;
};

struct aj_fork_group {
	const struct aj_plan *plan;
	size_t filters;
	struct aj_jail jail; /* of all of them; without channels */
	int listener_fd;
	struct aj_locks locks;
	uint64_t reported;
	struct aj_run *runs;
	unsigned count;
	struct aj_fork now;
	int64_t deadline_us;
	bool stopping;
	/* Something changed without a step: aj_fork_group_look() is due, and what is waited for may be other than it was. */
	void (*changed)(void *arg);
	/* Some descriptors of it are about to be closed: none may be watched, see jail/run.h. */
	void (*closing)(void *arg);
	void *changed_arg;
};

/* From an armed jail that lasts, whose plan allows branches, and which has none yet: it becomes the first of its family, and gives it
 * init, cgroup and listener. -1 with err, and nothing changed. */
int aj_fork_group_create(struct aj_fork_group *group, struct aj_run *first, struct aj_error *err);
/* Begin a branch of one of them, which must be idle until it is there. -1 with err: nothing was begun. */
int aj_fork_group_branch(struct aj_fork_group *group, struct aj_run *source, struct aj_error *err);
/* Give up what is under way. */
void aj_fork_group_cancel(struct aj_fork_group *group);
/* After AJ_FORK_GROUP_BORN: the jail to be watched, then (it is open) what makes it one of the family. */
struct aj_jail aj_fork_group_take(struct aj_fork_group *group);
void aj_fork_group_join(struct aj_fork_group *group, struct aj_run *branch);

void aj_fork_group_poll(const struct aj_fork_group *group, struct pollfd fds[AJ_FORK_GROUP_FDS]);
unsigned aj_fork_group_step(struct aj_fork_group *group, const struct pollfd fds[AJ_FORK_GROUP_FDS]);
unsigned aj_fork_group_look(struct aj_fork_group *group);
int64_t aj_fork_group_deadline_us(const struct aj_fork_group *group);
unsigned aj_fork_group_due(struct aj_fork_group *group);

/* Kill what is left, and wait for it. */
void aj_fork_group_end(struct aj_fork_group *group);
