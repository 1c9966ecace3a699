/* A zygote in an event loop: started, asked for one jail after another, and ended when it sends an invalid message or takes too long.
 * Attests nothing of a jail: jail/channel/channel.c does, as for every other jail. Does not decide how many jails there should be. */
#include "jail/pool/zygote.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/channel/encode.h"
#include "jail/pool/zygote_messages.h"
#include "sandbox/cgroup/create.h"
#include "sandbox/holder.h"

/* A zygote imports what the policy allows, and then makes a jail in milliseconds. Slower than this, it is stuck. */
enum { READY_MS = 60000, BIRTH_US = 10000000 };

/* Restart the deadline after each event, while an event is expected. */
static void set_deadline(struct aj_zygote *z)
{
	if (z->ready && !z->waiting_count)
		aj_loop_unset(z->loop, &z->deadline);
	else
		aj_loop_set(z->loop, &z->deadline,
		            aj_now_us() + (z->ready ? BIRTH_US : (int64_t)(z->ready_ms ? z->ready_ms : READY_MS) * 1000));
}

/* 0, or -1 with errno. */
static int watch_control(struct aj_zygote *z)
{
	return aj_loop_watch(z->loop, &z->control, z->process.control_fd, aj_zygote_is_writing(z) ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void end_dead(struct aj_zygote *z)
{
	struct aj_error err = z->err;
	aj_zygote_end(z);
	z->on_event(z->arg, AJ_ZYGOTE_DEAD, NULL, &err);
}

static void on_zygote(struct aj_io *io, uint32_t events)
{
	struct aj_zygote *z = io->arg;
	enum aj_zygote_found found = AJ_ZYGOTE_READY;
	(void)events;
	/* Reading may close this one: epoll keeps reporting a closed descriptor while another process holds a duplicate. */
	aj_loop_unwatch(z->loop, &z->report);
	while (z->there && found != AJ_ZYGOTE_NOTHING) {
		struct aj_error err = { 0 };
		struct aj_process process;
		found = aj_zygote_read(z, &process, &err);
		if (found == AJ_ZYGOTE_DEAD) {
			end_dead(z);
			break;
		}
		if (found == AJ_ZYGOTE_BORN || found == AJ_ZYGOTE_FAILED || found == AJ_ZYGOTE_WARNS)
			z->on_event(z->arg, found, &process, &err);
		if (z->there && found != AJ_ZYGOTE_NOTHING && found != AJ_ZYGOTE_WARNS)
			set_deadline(z);
	}
	/* Errors of watching are ignored: without the report a failure lacks its cause only, and the deadline covers the rest. */
	if (z->there && z->process.report_fd >= 0)
		aj_loop_watch(z->loop, &z->report, z->process.report_fd, EPOLLIN);
	if (z->there && z->control.events & EPOLLOUT)
		watch_control(z);
	z->on_event(z->arg, AJ_ZYGOTE_NOTHING, NULL, NULL);
}

static void on_deadline(struct aj_timer *timer)
{
	struct aj_zygote *z = timer->arg;
	aj_zygote_die(z, 0,
	              aj_zygote_is_writing(z) ? "it does not read its plan"
	              : z->ready              ? "it makes no jail"
	                                      : "it does not get ready");
	end_dead(z);
	z->on_event(z->arg, AJ_ZYGOTE_NOTHING, NULL, NULL);
}

int aj_zygote_start(struct aj_zygote *z, const struct aj_plan *plan, const struct aj_policy *policy, struct aj_error *err)
{
	*z = (struct aj_zygote){ .loop = z->loop,
		                 .on_event = z->on_event,
		                 .arg = z->arg,
		                 .ready_ms = z->ready_ms,
		                 .plan = plan,
		                 .policy = policy,
		                 .process = AJ_NO_PROCESS,
		                 .inbox.cap_bytes = 4096 };
	z->deadline = (struct aj_timer){ .fn = on_deadline, .arg = z };
	z->control = z->report = z->end = (struct aj_io){ .fn = on_zygote, .arg = z, .fd = -1 };
	struct aj_built built;
	aj_built_open(&built, plan);
	int launched = aj_launch(&built, &z->process, err);
	aj_built_close(&built);
	if (launched < 0)
		return -1;
	z->there = true;
	aj_encode_zygote(&z->outbox, plan, policy, z->process.listens);
	set_deadline(z);
	if (aj_zygote_send_plan(z, err) == 0 &&
	    (watch_control(z) < 0 || aj_loop_watch(z->loop, &z->report, z->process.report_fd, EPOLLIN) < 0 ||
	     aj_loop_watch(z->loop, &z->end, z->process.init_pidfd, EPOLLIN) < 0))
		aj_fail(err, AJ_EXIT_SETUP, "zygote", errno, "watch it");
	if (err->exit_code)
		aj_zygote_end(z);
	return err->exit_code ? -1 : 0;
}

bool aj_zygote_open(const struct aj_zygote *z)
{
	return z->there && z->ready && z->waiting_count < AJ_BIRTHS_MAX;
}

unsigned aj_zygote_due(const struct aj_zygote *z)
{
	return z->there ? (unsigned)z->waiting_count : 0;
}

/* Only the last component: the zygote has the folder open. */
static int name_leaf(struct aj_birth *order, const char *path, struct aj_error *err)
{
	const char *name = strrchr(path, '/');
	if (!name || strlen(name + 1) >= sizeof order->leaf)
		return aj_fail(err, AJ_EXIT_SETUP, "birth", ENAMETOOLONG, "name the leaf `%s`", path);
	strcpy(order->leaf, name + 1);
	return 0;
}

int aj_zygote_order(struct aj_zygote *z, struct aj_error *err)
{
	struct aj_process process = AJ_NO_PROCESS;
	struct aj_birth order = { .number = z->orders };
	cleanup_fd int cgroup = -1;
	if (z->waiting_count == AJ_BIRTHS_MAX)
		return aj_fail(err, AJ_EXIT_SETUP, "birth", 0, "more than %d are under way", AJ_BIRTHS_MAX);
	if (getrandom(order.entropy, sizeof order.entropy, 0) != sizeof order.entropy)
		aj_fail(err, AJ_EXIT_SETUP, "birth", errno, "draw random bytes");
	else if (z->plan->cgroup) {
		struct aj_zygote_cgroups *cgroups = aj_holder_cgroups(z->process.holder);
		enum { THIS_ONE = 1, NEXT_ONE = 1 }; /* the zygote makes an init ahead */
		size_t jails = aj_holder_jails(z->process.holder) + z->waiting_count + THIS_ONE + NEXT_ONE;
		if (aj_zygote_cgroups_make_room(z->plan, cgroups, jails, err) == 0)
			cgroup = aj_cgroup_create(z->plan, cgroups->folder, process.cgroup, sizeof process.cgroup, err);
	}
	/* A zygote of root's is not root, and may not use root's cgroups. */
	process.outside = cgroup >= 0 && z->plan->host_uid != geteuid();
	if (!err->exit_code && (cgroup < 0 || process.outside || name_leaf(&order, process.cgroup, err) == 0) &&
	    send(z->process.control_fd, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof order)
		aj_fail(err, AJ_EXIT_SETUP, "birth", errno, "ask the zygote for a jail");
	if (err->exit_code) {
		aj_process_end(&process, NULL);
		return -1;
	}
	z->waiting[z->waiting_count++] = process;
	z->orders++;
	if (!z->deadline.place)
		set_deadline(z);
	return 0;
}

void aj_zygote_end(struct aj_zygote *z)
{
	if (!z->there)
		return;
	z->there = false;
	aj_loop_unset(z->loop, &z->deadline);
	aj_loop_unwatch(z->loop, &z->control);
	aj_loop_unwatch(z->loop, &z->report);
	aj_loop_unwatch(z->loop, &z->end);
	/* Kills all births: the jails that were ordered, and whatever else the zygote made, are in its namespace. */
	aj_process_kill(&z->process);
	if (z->process.holder)
		aj_holder_zygote_gone(z->process.holder, z->process.init_pidfd);
	/* These jails' leaves are in the zygote's folder, which may go with the zygote. */
	for (size_t i = 0; i < z->waiting_count; i++) {
		aj_process_kill(&z->waiting[i]);
		aj_process_end(&z->waiting[i], NULL);
	}
	aj_process_end(&z->process, NULL);
	z->waiting_count = 0;
	aj_frame_next(&z->inbox);
	aj_buffer_free(&z->outbox);
	z->ready = false;
}
