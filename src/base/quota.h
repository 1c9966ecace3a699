/* How much of an event loop's thread one party may have: a jail, a connection. Processor time that was spent on a party's descriptors is
 * charged to its quota; a party that has used up what it had in advance is throttled, as a cgroup is by cpu.max, and all parties that were owe
 * their time back at a rate that leaves most of the thread to the others. That rate falls while the thread has to wait for a processor: the
 * kernel's scheduler makes no difference between a ping and the work of busy parties, and has a thread that uses more than its part wait for all.
 * Parties that come, use up what they have in advance, and come again as another are held back in the same way.
 * Nothing here reads a clock or waits. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
	AJ_QUOTA_AHEAD_US = 4000, /* what a party may use before it is throttled */
	AJ_QUOTA_FIRST_US = 500, /* so much of it in any case, and the rest as long as not too many new ones come and use theirs */
	AJ_QUOTA_NEW_US = 20000, /* what all that were not throttled yet may use of that rest; given back as fast as to those that were */
	AJ_QUOTA_BUSY_US = 250, /* whoever used more, and was not given it back, is busy: others come first */
	AJ_QUOTA_TURN_US = 200, /* what all that are busy may use of one turn, before it is asked who else came */
	AJ_QUOTA_PERCENT = 40, /* of the thread: what those that were throttled get back, all together, where nobody else wants the processors */
	AJ_QUOTA_LEAST_PERCENT = 5, /* the same while the thread waits for a processor */
	AJ_QUOTA_LIGHT_PERCENT = 2, /* what each that was not throttled gets back, at least */
	AJ_QUOTA_WAITED_PART = 10,  /* of the time: where the thread waited for more than one such part, it used too much */
	AJ_QUOTA_PERIOD_US = 2000,  /* how often those that are throttled are looked at */
	AJ_QUOTA_ALONE_US = 1000000, /* one that had the thread for itself for so long is not throttled: there is nobody to make room for */
};

struct aj_io;

/* Zeroed is one that has used nothing. */
struct aj_quota {
	int64_t used_ns; /* and not given back yet */
	bool throttled;
	bool heavy;                  /* it was throttled since it had everything back the last time */
	struct aj_quota *next, **at; /* of those that used something; at: NULL is not among them */
	struct aj_io *resting;       /* the loop's: descriptors that are not looked at meanwhile */
};

struct aj_quotas {
	struct aj_quota *first; /* that used something */
	unsigned count, throttled, heavy;
	unsigned percent; /* that the heavy ones share now; 0: nothing was found out yet */
	int64_t refilled_us;
	int64_t new_ns;              /* that was used of AJ_QUOTA_NEW_US */
	int64_t waited_us;           /* for a processor, since then */
	const struct aj_quota *last; /* that was charged; only to be compared with */
	int64_t changed_us;          /* when that was another one */
};

/* True: it is throttled from here on. */
bool aj_quota_charge(struct aj_quotas *all, struct aj_quota *quota, int64_t ns, int64_t now_us);
/* The thread was ready to run for so long, and did not: others want the processors, and who uses many is let wait for one. */
void aj_quota_waited(struct aj_quotas *all, int64_t us);
/* Give back what the time since the last refill is worth. Those that are throttled stay so until aj_quota_resume(). */
void aj_quota_refill(struct aj_quotas *all, int64_t now_us);
/* Has it used so much lately that whoever used little comes first? */
bool aj_quota_busy(const struct aj_quota *quota);
/* May it go on? */
bool aj_quota_due(const struct aj_quota *quota);
void aj_quota_resume(struct aj_quotas *all, struct aj_quota *quota);
/* It is about to be freed. */
void aj_quota_leave(struct aj_quotas *all, struct aj_quota *quota);
