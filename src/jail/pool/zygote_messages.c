/* The messages between a zygote and its supervisor: the plan out; steps, imports, readiness and births in.
 * It trusts no message: a zygote that breaks the protocol is treated as dead, and of a jail only what jail/pool/newborn.c confirms is
 * used. */
#include "jail/pool/zygote_messages.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/message.h"
#include "base/pidfd.h"
#include "base/text.h"
#include "jail/pool/newborn.h"
#include "sandbox/birth_protocol.h"
#include "sandbox/cgroup/create.h"
#include "sandbox/cgroup/leaf.h"
#include "sandbox/handshake.h"
#include "sandbox/holder.h"

enum { SAID_BYTES = 320 }; /* of a message's text */

/* The socket buffers some 200 kB, and the peer may never read. */
int aj_zygote_send_plan(struct aj_zygote *z, struct aj_error *err)
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

bool aj_zygote_is_writing(const struct aj_zygote *z)
{
	return z->outbox.sent < z->outbox.bytes;
}

enum aj_zygote_found aj_zygote_die(struct aj_zygote *z, int errnum, const char *cause)
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
			aj_zygote_die(z, z->inbox.want ? EMSGSIZE : 0, "it says something that is not a message");
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
	aj_zygote_die(z, 0, "it ended before it was ready");
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
	if (aj_zygote_is_writing(z))
		return aj_zygote_die(z, 0, "it answers before it was sent its plan");
	if (is_warning(z, kind, text, ret_err))
		return AJ_ZYGOTE_WARNS;
	z->ready = kind == AJ_FRAME_READY;
	if (z->ready)
		return AJ_ZYGOTE_READY;
	aj_zygote_die(z, 0, kind == AJ_FRAME_FAILED ? text : "it says something that is not `ready`");
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
		return aj_zygote_die(z, r < 0 ? errno : 0, r <= 0 ? "it ended" : "it sent an answer without an order");
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

enum aj_zygote_found aj_zygote_read(struct aj_zygote *z, struct aj_process *ret_process, struct aj_error *ret_err)
{
	/* Checked before reading, so that its last messages are read then. Not by EOF: another process may hold a duplicate of the
	 * socket. */
	bool ended = aj_pidfd_ended(z->process.init_pidfd);
	enum aj_zygote_found found = z->process.report_fd >= 0 ? on_report(z) : AJ_ZYGOTE_NOTHING;
	if (found != AJ_ZYGOTE_NOTHING)
		return found;
	if (aj_zygote_is_writing(z) && aj_zygote_send_plan(z, &z->err) < 0)
		return AJ_ZYGOTE_DEAD;
	found = z->ready ? on_born(z, ret_process, ret_err) : on_frame(z, ret_err);
	if (found == AJ_ZYGOTE_NOTHING && ended)
		found = aj_zygote_die(z, 0, z->ready ? "it ended" : "it ended before it was ready");
	return found;
}
