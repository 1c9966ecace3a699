/* One jail in an event loop: watches its descriptors and deadlines, and notifies the owner. A lasting jail runs one snippet after
 * another; any other jail runs one, and its run ends with the jail. */
#pragma once
#include <sys/queue.h>

#include "base/loop/loop.h"
#include "jail/channel/channel.h"
#include "jail/files/collect.h"
#include "jail/outcome.h"
#include "jail/pump.h"
#include "network/ask/ask.h"
#include "network/egress/egress.h"
#include "network/publish/publish.h"
#include "sandbox/launch.h"
#include "sandbox/mediate/locks.h"
#include "sandbox/mediate/mediate.h"
#include "workspace/growth.h"
#include "workspace/protect.h"
#include "workspace/staging/staging.h"

/* The watched descriptors. */
enum aj_jail_fd {
	AJ_JAIL_REPORT,
	AJ_JAIL_CONTROL,
	AJ_JAIL_OUT,
	AJ_JAIL_ERR,
	AJ_JAIL_LISTENER,
	AJ_JAIL_CONNECTOR,
	AJ_JAIL_RELAY,
	AJ_JAIL_PUBLISHER,
	AJ_JAIL_INIT,
	AJ_JAIL_FDS
};

/* Events of a jail, as bits. */
enum {
	AJ_JAIL_ARMED = 1,    /* a lasting jail is ready for its first snippet */
	AJ_JAIL_ANSWERED = 2, /* jail->result is complete: status, claims, output. A lasting jail takes the next snippet */
	AJ_JAIL_REAPED = 8,   /* its relay has exited, too, which may be later than the jail */
	AJ_JAIL_GONE = 4,     /* the jail is gone and its fds are closed. When a run was under way, jail->result is complete */
};

typedef void aj_output_fn(int fd /* 1 or 2 */, const char *data, size_t bytes, void *arg);

struct aj_fork_group;
struct aj_pty;
struct aj_jail;

/* The functions of its fork group that a jail calls; jail/fork/group.c sets them. */
struct aj_jail_group {
	/* The original has answered an order to fork. */
	void (*answered)(struct aj_fork_group *group, const struct aj_jail *original);
	/* The run's process has ended: asks init for its exit status, and takes the run out of the group. */
	void (*on_exit)(struct aj_fork_group *group, struct aj_jail *jail);
	/* Is the listener of the filter, which the group's runs share, still open? */
	bool (*listens)(const struct aj_fork_group *group);
};

/* The supervisor's side of a jail's network. jail_relay.c */
struct aj_jail_network {
	struct aj_helper relay;         /* of a network by allow-list */
	struct aj_publish *publish;     /* the owner's: ports of the host that lead into the jail; NULL: none */
	struct aj_asker *asker;         /* the owner's: about names that its list lacks; NULL: no person or program is asked */
	aj_connections_fn *connections; /* the owner's: gets connections that ended since the last call; may be NULL */
	void *connections_arg;
	struct aj_network_use use; /* reports that are in no result yet */
	struct {
		uint64_t bytes_out, bytes_in;
	} open_before;                /* by connections open at the last result, which counts it */
	struct aj_timer record_timer; /* collects ended connections until it fires */
};

/* The calls that the jail's filter reports. reported_calls.c */
struct aj_jail_calls {
	int listener_fd;              /* the filter's listener; -1: none */
	struct aj_mediator *mediator; /* the owner's, for a command; open where the plan mediates calls. NULL: none */
	struct aj_locks locks;        /* where the plan mediates locks */
};

/* The terminal and the outputs to which the jail's are relayed. jail_terminal.c, output.c */
struct aj_jail_terminal {
	struct aj_pty *pty;   /* the owner's, where the plan has a terminal; NULL: none */
	struct aj_pump *pump; /* the owner's, for standard output and error, where the plan has pumps; NULL: none */
	bool suspending;      /* every process was stopped, because a signal came that stops us */
	bool paused;          /* a question is shown: the terminal gets nothing from the jail */
};

/* The workspace around the run: owned, and closed when the jail is gone. Each may be NULL. */
struct aj_jail_workspace {
	struct aj_growth *growth;   /* where the plan limits its growth */
	struct aj_staging *staging; /* where changes are staged */
	struct aj_protect *protect; /* where it is writable */
};

/* Files that cross between the host and the jail. */
struct aj_jail_files {
	struct aj_scratch scratch; /* taken where files are exchanged, and open until the jail is freed */
	bool wanted;               /* of the run under way: files of /output will be asked for */
	struct timespec since;     /* when that run began */
};

/* The jail's place in a fork group, see jail/fork/group.h; without one all is 0. */
struct aj_jail_fork {
	struct aj_fork_group *group;
	const struct aj_jail_group *functions;
	LIST_ENTRY(aj_jail) grouped;
	pid_t inner_pid; /* pid inside the jail */
	unsigned depth;  /* number of branches between this one and the jail's first guest */
};

/* When something is due. INT64_MAX: never. events.c */
struct aj_jail_deadlines {
	int64_t soft_us;              /* the snippet is interrupted; INT64_MAX once it was, too */
	int64_t kill_us;              /* the jail is killed */
	int64_t terminating_since_us; /* when a command was first asked to end by a signal; 0: it was not */
	struct aj_timer timer;        /* the next one */
};

/* What is watched in the loop. events.c */
struct aj_jail_watch {
	struct aj_io io[AJ_JAIL_FDS];
	struct aj_quota quota; /* of a lasting jail: for all output and messages; its end is handled at once */
	bool epoll_failed;     /* a descriptor could not be watched; the jail was killed */
};

struct aj_jail {
	/* The owner's, before aj_jail_open(); and what a struct below says is the owner's. */
	struct aj_loop *loop;
	struct aj_built built; /* of a jail that mounts nothing itself: the plan alone */
	const struct aj_policy *policy;
	bool lasting; /* several snippets, in a loop that others use too: the jail is charged for what it uses of the thread */
	bool warm;    /* born from a zygote */
	/* Called with AJ_JAIL_* bits as an event's last act, so it may free a jail that is gone. May be NULL. */
	void (*on_event)(struct aj_jail *jail, unsigned found);
	void *owner;
	LIST_ENTRY(aj_jail) listed; /* in a list of the owner's */
	aj_output_fn *output;       /* as it comes; may be NULL */
	void *output_arg;

	struct aj_process process;
	struct aj_channel channel;
	struct aj_outcome outcome;

	struct aj_jail_network network;
	struct aj_jail_calls calls;
	struct aj_jail_terminal terminal;
	struct aj_jail_workspace workspace;
	struct aj_jail_files files;
	struct aj_jail_fork fork;

	bool running;  /* a run is under way */
	bool stopping; /* the jail is being ended */
	bool exited;   /* init has ended, and the end is being handled: nothing is watched any more */
	bool gone;     /* that is done */
	struct aj_jail_deadlines deadlines;
	struct aj_jail_watch watch;
};

/* Watch a launched jail (`jail->process` is set), which must not move in memory from now on. `filters`: see aj_channel_open().
 * -1: the jail cannot be watched (jail->result.setup says why), and was killed; its end is still to come. */
int aj_jail_open(struct aj_jail *jail, int filters);
/* For a runner that starts cold: send what it needs to be armed. */
void aj_jail_arm(struct aj_jail *jail);

/* Before the first run of an armed, lasting jail: its snippets get the Python layer of this policy, not of jail->policy. The
 * caller composes the results. */
void aj_jail_layer(struct aj_jail *jail, const struct aj_policy *policy);
/* A snippet that was interrupted at its time limit has this long to stop; then its jail is killed. */
enum { AJ_SNIPPET_GRACE_MS = 1000 };
/* When a snippet is interrupted, and when the jail is killed, counted from the start; INT64_MAX: never. `timeout_ms`: the
 * request's, 0: the policy's. A command is only killed. */
void aj_jail_time_limits(const struct aj_plan *plan, uint64_t timeout_ms, int64_t *ret_soft_us, int64_t *ret_wall_us);
/* Begin a run: not before a lasting jail is armed, once for any other. At its `timeout_ms` (0: the policy's) a snippet is
 * interrupted, and the jail killed if it does not stop (jail/interrupt.h). -1 with err: nothing has begun. Frees the last run's
 * result. */
int aj_jail_begin(struct aj_jail *jail, const struct aj_request *request, int64_t started_us, struct aj_error *err);
/* Send a tool's answer, JSON. */
void aj_jail_tool(struct aj_jail *jail, const char *text, size_t bytes);
/* Send what the channel holds; the loop sends what does not fit. */
void aj_jail_flush(struct aj_jail *jail);
/* Read the output that is available: it was written before the message under way. */
void aj_jail_drain(struct aj_jail *jail);

/* A command that was asked to end (SIGTERM, SIGINT, SIGQUIT) has this long; then every process of the jail is killed. */
enum { AJ_COMMAND_GRACE_S = 10 };
/* Another such signal ends the grace time, unless it comes this soon: timeout(1) signals the process and its process group. */
enum { AJ_SAME_SIGNAL_MS = 500 };
/* Forward a signal to a command, which may end a grace time; for a snippet, end it and its jail. */
void aj_jail_signal(struct aj_jail *jail, int signal);
/* A newborn jail must be armed within this time. */
enum { AJ_ARM_US = 20000000 };
/* SIGWINCH, SIGTSTP or SIGCONT came to us, who relay the jail's terminal. */
void aj_jail_terminal_signal(struct aj_jail *jail, int signal);
/* `arg`: the run. While paused, nothing of the jail reaches a terminal; the asker is notified when earlier output is written. */
void aj_jail_pause_output(void *arg, bool paused);
/* Kill the jail at this time; INT64_MAX: never. */
void aj_jail_limit(struct aj_jail *jail, int64_t deadline_us);
/* End the jail; it is gone some time later. */
void aj_jail_end(struct aj_jail *jail);
/* The same for a jail whose caller asks for nothing of it any more. */
void aj_jail_give_up(struct aj_jail *jail);
/* End the jail for a lock that was not allowed. */
void aj_jail_end_for_lock(struct aj_jail *jail);
/* Fail the run: the jail cannot be watched any more. */
void aj_jail_fail(struct aj_jail *jail, const char *cause);
/* End the jail's network, and add the rest to jail->result, even between runs. A lasting jail waits for the relay for 20 ms. */
void aj_jail_end_network(struct aj_jail *jail);
/* Kill the jail and wait for its end, now, without on_event. Without effect once the jail is gone. */
void aj_jail_kill(struct aj_jail *jail);

/* Stop watching one descriptor, which becomes another owner's. */
void aj_jail_unwatch(struct aj_jail *jail, enum aj_jail_fd which);
/* Take the scratch space of an armed jail. -1 with err. */
int aj_jail_take_scratch(struct aj_jail *jail, struct aj_error *err);
/* Begin to collect what the run has left in /output; NULL: the run asked for no files. */
struct aj_collect *aj_jail_collect(struct aj_jail *jail, const struct aj_request *request);
/* Watch what the run waits for now: after a change from outside of the run's own events. */
void aj_jail_watch(struct aj_jail *jail);

/* Free the result, and the jail with it: aj_jail_kill() comes first. */
void aj_jail_free(struct aj_jail *jail);
