/* A zygote in an event loop: started, asked for one jail after another, and ended when it sends an invalid message or takes too
 * long. Only what jail/pool/newborn.c confirms of a jail is used; jail/channel/channel.c attests it, as for every jail. */
#include "jail/pool/pool_zygote.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/message.h"
#include "base/pidfd.h"
#include "base/text.h"
#include "jail/channel/encode.h"
#include "jail/pool/newborn.h"
#include "sandbox/cgroup/create.h"
#include "sandbox/cgroup/leaf.h"
#include "sandbox/handshake.h"
#include "sandbox/holder.h"

/* A zygote imports what the policy allows, and then makes a jail in milliseconds. Slower than this, it is stuck. */
enum { READY_MS = 60000, BIRTH_US = 10000000 };
enum { SAID_BYTES = 320 }; /* of a message's text */

/* --- messages: the plan out; steps, imports, readiness and births in --- */

/* Sends as much of the plan, policy and filter, which the runner needs to get ready, as the socket takes: it buffers
 * some 200 kB, and the peer may never read. */
static int send_plan(struct aj_zygote *z, struct aj_error *err)
{
	struct aj_buffer *b = &z->outbox;
	while (b->sent < b->bytes) {
		/* not write(): SIGPIPE would kill a process that did not expect it */
		ssize_t n = send(z->process.control_fd, b->data + b->sent, b->bytes - b->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) /* its end is closed; a read would say the same */
			return aj_fail(err, AJ_EXIT_SETUP, "zygote", 0, "it ended before it was ready");
		if (n < 0 && errno != EINTR)
			return aj_fail(err, AJ_EXIT_SETUP, "zygote", errno, "send it its plan");
		b->sent += n < 0 ? 0 : (size_t)n;
	}
	aj_buffer_free(b);
	return 0;
}

static bool is_writing(const struct aj_zygote *z)
{
	return z->outbox.sent < z->outbox.bytes;
}

/* Sets z->err: `cause`, the module that it imports, by its own word, and the limit that it reached, by the kernel's. */
static enum aj_zygote_found die(struct aj_zygote *z, int errnum, const char *cause)
{
	struct aj_leaf_usage used = { 0 };
	if (z->process.holder)
		aj_leaf_read(aj_holder_cgroups(z->process.holder)->leaf, &used);
	bool importing = !z->ready && z->importing[0];
	const char *hit = used.oom_kills    ? ": the zygote reached its limit of memory (memory.max)"
	                : used.pids_refused ? ": the zygote reached its limit of processes (pids.max)"
	                                    : "";
	aj_fail(&z->err, AJ_EXIT_SETUP, "zygote", errnum, "%s%s%s%s%s", cause, importing ? ", while it imported `" : "",
	        importing ? z->importing : "", importing ? "`" : "", hit);
	if (importing)
		aj_advise(&z->err, "remove that module from the policy's python.imports, or from the Python tree");
	return AJ_ZYGOTE_DEAD;
}

/* Reports of the steps before exec. */
static enum aj_zygote_found on_report(struct aj_zygote *z)
{
	struct aj_msg msg;
	int r = aj_msg_recv(z->process.report_fd, &msg, MSG_DONTWAIT);
	if (r < 0 && errno == EAGAIN)
		return AJ_ZYGOTE_NOTHING;
	if (r <= 0) { /* closed by exec; the zygote's end shows on its pidfd */
		aj_close(&z->process.report_fd);
		return AJ_ZYGOTE_NOTHING;
	}
	if (msg.kind != AJ_MSG_FAILED)
		return AJ_ZYGOTE_NOTHING;
	aj_msg_error(&msg, &z->err);
	return AJ_ZYGOTE_DEAD;
}

/* Reads the next frame, and nothing after it. 1: *ret_kind and its text; 0: not yet; -1: the zygote is dead. */
static int take_frame(struct aj_zygote *z, uint8_t *ret_kind, char text[SAID_BYTES])
{
	char chunk[256], said[SAID_BYTES];
	const char *frame = NULL;
	ssize_t n = 0;
	for (size_t want; !frame;) {
		want = aj_frame_missing(&z->inbox);
		n = recv(z->process.control_fd, chunk, want < sizeof chunk ? want : sizeof chunk, MSG_DONTWAIT);
		if (n <= 0)
			break;
		if (aj_frame_feed(&z->inbox, chunk, (size_t)n, &frame) < 0) {
			die(z, z->inbox.want ? EMSGSIZE : 0, "it says something that is not a message");
			return -1;
		}
	}
	if (frame) {
		*ret_kind = (uint8_t)*frame;
		snprintf(said, sizeof said, "%.*s", (int)z->inbox.want - 1, frame + 1);
		aj_ascii(text, SAID_BYTES, said);
		aj_frame_next(&z->inbox);
		return 1;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	die(z, 0, "it ended before it was ready");
	return -1;
}

/* Each import once, and an empty name at the end: more messages would only keep us busy. */
static bool is_import(struct aj_zygote *z, uint8_t kind, const char *text)
{
	if (kind != AJ_FRAME_IMPORT || z->imports++ > z->plan->preload.count)
		return false;
	aj_ascii(z->importing, sizeof z->importing, text);
	return true;
}

/* The import of a module failed. The policy and the tree do not fit, and only code that imports this module cares. */
static bool is_warning(struct aj_zygote *z, uint8_t kind, const char *text, struct aj_error *ret_err)
{
	if (kind != AJ_FRAME_IMPORT_FAILED || z->warned)
		return false;
	z->warned = true;
	aj_fail(ret_err, AJ_EXIT_SETUP, "zygote", 0, "%s", text);
	return true;
}

static enum aj_zygote_found on_frame(struct aj_zygote *z, struct aj_error *ret_err)
{
	char text[SAID_BYTES];
	uint8_t kind;
	int r;
	/* Read all import messages: the last one names the module that killed the zygote. */
	while ((r = take_frame(z, &kind, text)) > 0 && is_import(z, kind, text))
		;
	if (r <= 0)
		return r < 0 ? AJ_ZYGOTE_DEAD : AJ_ZYGOTE_NOTHING;
	if (is_writing(z))
		return die(z, 0, "it answers before it was sent its plan");
	if (is_warning(z, kind, text, ret_err))
		return AJ_ZYGOTE_WARNS;
	z->ready = kind == AJ_FRAME_READY;
	if (z->ready)
		return AJ_ZYGOTE_READY;
	die(z, 0, kind == AJ_FRAME_FAILED ? text : "it says something that is not `ready`");
	aj_advise(&z->err, "the rootfs does not fit: `agentjail rootfs verify`, or build it again");
	return AJ_ZYGOTE_DEAD;
}

static enum aj_zygote_found on_born(struct aj_zygote *z, struct aj_process *ret_process, struct aj_error *ret_err)
{
	struct aj_birth_answer born;
	int r = aj_message_recv(z->process.control_fd, &born, sizeof born, NULL, MSG_DONTWAIT);
	if (r < 0 && errno == EAGAIN)
		return AJ_ZYGOTE_NOTHING;
	if (r <= 0 || z->waiting_count == 0)
		return die(z, r < 0 ? errno : 0, r <= 0 ? "it ended" : "it sent an answer without an order");
	struct aj_process *process = &z->waiting[0];
	enum aj_newborn found = aj_newborn_take(&z->process, &born, process, ret_err);
	if (found == AJ_NEWBORN_INVALID) {
		z->err = *ret_err;
		return AJ_ZYGOTE_DEAD; /* the jails that it owes end with it */
	}
	if (found == AJ_NEWBORN_THERE)
		*ret_process = *process;
	memmove(z->waiting, z->waiting + 1, --z->waiting_count * sizeof *z->waiting);
	return found == AJ_NEWBORN_THERE ? AJ_ZYGOTE_BORN : AJ_ZYGOTE_FAILED;
}

/* The next event; called again until it returns AJ_ZYGOTE_NOTHING. */
static enum aj_zygote_found read_event(struct aj_zygote *z, struct aj_process *ret_process, struct aj_error *ret_err)
{
	/* Checked before reading, so that its last messages are read then. Not by EOF: another process may have a duplicate of
	 * the socket. */
	bool ended = aj_pidfd_ended(z->process.init_pidfd);
	enum aj_zygote_found found = z->process.report_fd >= 0 ? on_report(z) : AJ_ZYGOTE_NOTHING;
	if (found != AJ_ZYGOTE_NOTHING)
		return found;
	if (is_writing(z) && send_plan(z, &z->err) < 0)
		return AJ_ZYGOTE_DEAD;
	found = z->ready ? on_born(z, ret_process, ret_err) : on_frame(z, ret_err);
	if (found == AJ_ZYGOTE_NOTHING && ended)
		found = die(z, 0, z->ready ? "it ended" : "it ended before it was ready");
	return found;
}

/* --- its life --- */

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
	return aj_loop_watch(z->loop, &z->control, z->process.control_fd, is_writing(z) ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static int watch_all(struct aj_zygote *z)
{
	if (watch_control(z) < 0 || aj_loop_watch(z->loop, &z->report, z->process.report_fd, EPOLLIN) < 0)
		return -1;
	return aj_loop_watch(z->loop, &z->end, z->process.init_pidfd, EPOLLIN);
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
		found = read_event(z, &process, &err);
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
	die(z, 0, is_writing(z) ? "it does not read its plan" : z->ready ? "it makes no jail" : "it does not get ready");
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
	if (send_plan(z, err) == 0 && watch_all(z) < 0)
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
