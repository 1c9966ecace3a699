/* Limits the part of an event loop's thread that one party may use: a jail, a connection. Processor time spent on a party's
 * descriptors is charged to its quota. A party that has used up its advance is throttled, like a cgroup by cpu.max, and all
 * throttled parties get time back at a rate that leaves most of the thread to the others. That rate falls while the thread waits
 * for a processor: the kernel's scheduler does not distinguish a ping from the work of busy parties, and delays a thread that
 * uses more than its share. A party that uses up its advance and returns as a new party is throttled in the same way.
 * This file reads no clock and never waits. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
	AJ_QUOTA_AHEAD_US = 4000,    /* advance: use before a party is throttled */
	AJ_QUOTA_FIRST_US = 500,     /* the guaranteed part of the advance; the rest only while AJ_QUOTA_NEW_US is not used up */
	AJ_QUOTA_NEW_US = 20000,     /* what all new parties together may use beyond that part; refilled like throttled ones */
	AJ_QUOTA_BUSY_US = 250,      /* a party with more unrefilled use is busy: others come first */
	AJ_QUOTA_TURN_US = 200,      /* what all busy parties may use of one turn before epoll is asked for new events */
	AJ_QUOTA_PERCENT = 40,       /* part of the thread that throttled parties get back together, while processors are idle */
	AJ_QUOTA_LEAST_PERCENT = 5,  /* the same while the thread waits for a processor */
	AJ_QUOTA_LIGHT_PERCENT = 2,  /* what each party that was not throttled gets back, at least */
	AJ_QUOTA_WAITED_PART = 10,   /* the thread used too much if it waited for more than one tenth of the time */
	AJ_QUOTA_PERIOD_US = 2000,   /* interval of refills while a party is throttled */
	AJ_QUOTA_ALONE_US = 1000000, /* a party alone on the thread for this long is not throttled */
};

struct aj_io;

/* Zeroed: nothing used. */
struct aj_quota {
	int64_t used_ns; /* use that is not refilled yet */
	bool throttled;
	bool heavy;                  /* throttled since its use was last fully refilled */
	struct aj_quota *next, **at; /* list of parties with unrefilled use; at NULL: not in it */
	struct aj_io *paused;        /* the loop's: paused descriptors */
};

struct aj_quotas {
	struct aj_quota *first; /* list of parties with unrefilled use */
	unsigned count, throttled, heavy;
	unsigned percent; /* part that the heavy parties share now; 0: not determined yet */
	int64_t refilled_us;
	int64_t new_ns;              /* use of AJ_QUOTA_NEW_US */
	int64_t waited_us;           /* wait for a processor since the last refill */
	const struct aj_quota *last; /* last charged quota; only compared, never dereferenced */
	int64_t changed_us;          /* when `last` changed */
};

/* Charge `ns`. True: the party is throttled from here on. */
bool aj_quota_charge(struct aj_quotas *all, struct aj_quota *quota, int64_t ns, int64_t now_us);
/* The thread was runnable for so long and did not run: other processes want the processors. */
void aj_quota_waited(struct aj_quotas *all, int64_t us);
/* Refill for the time since the last refill. Throttled parties stay throttled until aj_quota_resume(). */
void aj_quota_refill(struct aj_quotas *all, int64_t now_us);
/* Has the party used so much lately that others come first? */
bool aj_quota_busy(const struct aj_quota *quota);
/* May a throttled party be resumed? */
bool aj_quota_due(const struct aj_quota *quota);
void aj_quota_resume(struct aj_quotas *all, struct aj_quota *quota);
/* Call before freeing the quota. */
void aj_quota_leave(struct aj_quotas *all, struct aj_quota *quota);
