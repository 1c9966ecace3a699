/* How much of an event loop's thread one party may have: a jail, a connection. Processor time that was spent on a party's descriptors is
 * charged to its quota; a party that has used up what it had in advance is throttled, as a cgroup is by cpu.max, and all parties that are owe
 * their time back at a rate that leaves most of the thread to the others.
 * Nothing here reads a clock or waits. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
	AJ_QUOTA_AHEAD_US = 4000,  /* what a party may use before it is throttled */
	AJ_QUOTA_BUSY_US = 250,    /* whoever used more, and was not given it back, is busy: others come first */
	AJ_QUOTA_TURN_US = 200,    /* what all that are busy may use of one turn, before it is asked who else came */
	AJ_QUOTA_PERCENT = 40,     /* of the thread: what the parties that used it lately get back, all together */
	AJ_QUOTA_PERIOD_US = 2000, /* how often those that are throttled are looked at */
	AJ_QUOTA_ALONE_US = 1000000, /* one that had the thread for itself for so long is not throttled: there is nobody to make room for */
};

struct aj_io;

/* Zeroed is one that has used nothing. */
struct aj_quota {
	int64_t used_ns; /* and not given back yet */
	bool throttled;
	struct aj_quota *next, **at; /* of those that used something; at: NULL is not among them */
	struct aj_io *resting;       /* the loop's: descriptors that are not looked at meanwhile */
};

struct aj_quotas {
	struct aj_quota *first; /* that used something */
	unsigned count, throttled;
	int64_t refilled_us;
	const struct aj_quota *last; /* that was charged; only to be compared with */
	int64_t changed_us;          /* when that was another one */
};

/* True: it is throttled from here on. */
bool aj_quota_charge(struct aj_quotas *all, struct aj_quota *quota, int64_t ns, int64_t now_us);
/* Give back what the time since the last refill is worth. Those that are throttled stay so until aj_quota_resume(). */
void aj_quota_refill(struct aj_quotas *all, int64_t now_us);
/* Has it used so much lately that whoever used little comes first? */
bool aj_quota_busy(const struct aj_quota *quota);
/* May it go on? */
bool aj_quota_due(const struct aj_quota *quota);
void aj_quota_resume(struct aj_quotas *all, struct aj_quota *quota);
/* It is about to be freed. */
void aj_quota_leave(struct aj_quotas *all, struct aj_quota *quota);
