/* Private to src/jail/: the parts of a run, each in the file that is named for it. */
#pragma once
#include "base/message.h"
#include "jail/run.h"

/* run.c */
/* End the jail, and record why, unless the run has a cause already or its process has exited. */
void aj_run_end_by(struct aj_run *run, enum aj_cause cause);

/* events.c */
void aj_run_events_init(struct aj_run *run);
/* Stop watching a descriptor and close it: epoll keeps reporting a closed descriptor while another process holds a duplicate. */
void aj_run_close(struct aj_run *run, enum aj_run_fd which, int *fd);

/* messages.c */
bool aj_run_reads_control(const struct aj_run *run);
void aj_run_on_report(struct aj_run *run);
/* Returns AJ_RUN_* bits. */
unsigned aj_run_on_control(struct aj_run *run);

/* output.c */
/* Read once; false when nothing was there. */
bool aj_run_on_output(struct aj_run *run, int number);
/* Must this output wait? 1 or 2. */
bool aj_run_output_held(const struct aj_run *run, int number);

/* listener.c */
void aj_run_on_listener(struct aj_run *run);
void aj_run_on_connector(struct aj_run *run);

/* relay.c, for a network by allow-list, and for published ports. */
/* Init has made the sockets: start the relay with them, and let init go on. The descriptors stay the caller's. */
void aj_run_on_sockets(struct aj_run *run, const struct aj_passed *passed);
/* Read the relay's reports, and notice its exit. Returns AJ_RUN_* bits. */
unsigned aj_run_on_relay(struct aj_run *run);
/* The same of the publisher. */
void aj_run_on_publisher(struct aj_run *run);
/* Move the reports since the last call into the result. */
void aj_run_report_network(struct aj_run *run);

/* terminal.c */
/* Init has made the guest's terminal: relay it, and let init go on. */
void aj_run_on_terminal(struct aj_run *run, struct aj_passed *passed);
/* Output that was on its way to a terminal has arrived. */
void aj_run_still(struct aj_run *run);
/* The guest was stopped. */
void aj_run_on_stopped(struct aj_run *run, int wait_status);

/* outcome.c */
/* Before a lasting jail's next run, before its code is sent: note what the jail has used so far. */
void aj_run_count_before(struct aj_run *run);
/* Then: a new result in place of the last one. */
void aj_run_renew(struct aj_run *run);
/* A lasting jail has answered: complete the result while the jail is there. */
void aj_run_conclude(struct aj_run *run);
/* Init is gone: complete the result, and free what the jail had. */
void aj_run_on_exit(struct aj_run *run);
