/* Private to src/jail/: the parts of a run, each in the file that is named for it. */
#pragma once
#include "base/message.h"
#include "jail/jail.h"

/* jail.c */
/* End the jail, and record why, unless the run has a cause already or its process has exited. */
void aj_jail_end_by(struct aj_jail *jail, enum aj_cause cause);

/* events.c */
void aj_jail_events_init(struct aj_jail *jail);
/* Stop watching a descriptor and close it: epoll keeps reporting a closed descriptor while another process holds a duplicate. */
void aj_jail_close(struct aj_jail *jail, enum aj_jail_fd which, int *fd);

/* messages.c */
bool aj_jail_reads_control(const struct aj_jail *jail);
void aj_jail_on_report(struct aj_jail *jail);
/* Returns AJ_JAIL_* bits. */
unsigned aj_jail_on_control(struct aj_jail *jail);

/* output.c */
/* Read once; false when nothing was there. */
bool aj_jail_on_output(struct aj_jail *jail, int number);
/* Must this output wait? 1 or 2. */
bool aj_jail_output_paused(const struct aj_jail *jail, int number);

/* reported_calls.c */
void aj_jail_on_listener(struct aj_jail *jail);
void aj_jail_on_connector(struct aj_jail *jail);

/* jail_relay.c, for a network by allow-list, and for published ports. */
/* Init has made the sockets: start the relay with them, and let init continue. The descriptors stay the caller's. */
void aj_jail_on_sockets(struct aj_jail *jail, const struct aj_passed *passed);
/* Read the relay's reports, and notice its exit. Returns AJ_JAIL_* bits. */
unsigned aj_jail_on_relay(struct aj_jail *jail);
/* The same of the publisher. */
void aj_jail_on_publisher(struct aj_jail *jail);
/* Move the reports since the last call into the result. */
void aj_jail_report_network(struct aj_jail *jail);

/* jail_terminal.c */
/* Init has made the guest's terminal: relay it, and let init continue. */
void aj_jail_on_terminal(struct aj_jail *jail, struct aj_passed *passed);
/* Output that was on its way to a terminal has arrived. */
void aj_jail_check_flushed(struct aj_jail *jail);
/* The guest was stopped. */
void aj_jail_on_stopped(struct aj_jail *jail, int wait_status);

/* end.c */
/* A lasting jail has answered: complete the result while the jail is there. */
void aj_jail_conclude(struct aj_jail *jail);
/* Init is gone: complete the result, and free what the jail had. */
void aj_jail_on_exit(struct aj_jail *jail);
