/* The guests of one jail once there may be more than one: the first, and the branches of it. They have the jail's init, its cgroup and
 * the listener of its filter in common, which are the family's; everything else of a branch is watched as of any other jail. */
#pragma once
#include "run/attest.h"
#include "run/live.h"
#include "sandbox/branch.h"

/* What is waited for. */
enum aj_family_fd { AJ_FAMILY_REPORT, AJ_FAMILY_LISTENER, AJ_FAMILY_COPIER, AJ_FAMILY_INIT, AJ_FAMILY_FDS };

/* What a step found out, as bits. */
enum {
	AJ_FAMILY_BORN = 1,   /* aj_family_take() has it */
	AJ_FAMILY_FAILED = 2, /* family->now.err says why there is no branch */
	AJ_FAMILY_GONE = 4,   /* nobody is left, and init is gone too: free it */
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

struct aj_branching {
	enum aj_branch_state state;
	struct aj_live *source; /* NULL once it is gone */
	unsigned depth;
	struct aj_jail jail; /* the branch's channels, and its pidfd */
	struct aj_jail_ends ends;
	struct aj_attested who;
	int proc_fd;
	struct aj_notice call; /* in which it waits */
	struct aj_copier copier;
	struct aj_error err;
};

struct aj_family {
	const struct aj_plan *plan;
	size_t filters;
	struct aj_jail jail; /* of all of them; without channels */
	int listener_fd;
	struct aj_locks locks;
	uint64_t reported;
	struct aj_live *lives;
	unsigned count;
	struct aj_branching now;
	int64_t deadline_us;
	bool stopping;
	/* Something changed without a step: aj_family_look() is due, and what is waited for may be other than it was. */
	void (*changed)(void *arg);
	/* Some descriptors of it are about to be closed: none may be watched, see run/live.h. */
	void (*closing)(void *arg);
	void *changed_arg;
};

/* From an armed jail that lasts, whose plan allows branches, and which has none yet: it becomes the first of its family, and gives it
 * init, cgroup and listener. -1 with err, and nothing changed. */
int aj_family_found(struct aj_family *family, struct aj_live *first, struct aj_error *err);
/* Begin a branch of one of them, which must be idle until it is there. -1 with err: nothing was begun. */
int aj_family_branch(struct aj_family *family, struct aj_live *source, struct aj_error *err);
/* The original has answered. run/live.c calls it. */
void aj_family_answered(struct aj_family *family, const struct aj_live *source);
/* Give up what is under way. */
void aj_family_cancel(struct aj_family *family);
/* After AJ_FAMILY_BORN: the jail to be watched, then (it is open) what makes it one of the family. */
struct aj_jail aj_family_take(struct aj_family *family);
void aj_family_join(struct aj_family *family, struct aj_live *branch);

void aj_family_poll(const struct aj_family *family, struct pollfd fds[AJ_FAMILY_FDS]);
unsigned aj_family_step(struct aj_family *family, const struct pollfd fds[AJ_FAMILY_FDS]);
unsigned aj_family_look(struct aj_family *family);
int64_t aj_family_deadline_us(const struct aj_family *family);
unsigned aj_family_due(struct aj_family *family);

/* One of them has ended: takes init's word for how, and leaves the family. run/live.c calls it. */
void aj_family_bury(struct aj_family *family, struct aj_live *live);
/* Kill what is left, and wait for it. */
void aj_family_end(struct aj_family *family);
