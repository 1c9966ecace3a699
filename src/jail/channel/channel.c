/* Feeds a snippet's runner and receives its one answer, each message only in the state that allows it.
 * Trusts nothing: the kernel must confirm that the runner is armed, and a claim's shape is checked. */
#include "jail/channel/channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/message.h"
#include "base/procfs.h"
#include "base/text.h"
#include "jail/channel/encode.h"
#include "jail/result/claim.h"
#include "sandbox/handshake.h"

/* Limits for tool answers that the jail has not read, in our memory. Honest code has one pending call per waiting thread. */
enum { UNREAD_MAX = 1024, UNREAD_BYTES = 64 << 20 };
/* The outbox keeps this much memory when empty, and is compacted once this much was sent. */
enum { KEPT_BYTES = 1 << 20 };

static unsigned fail_setup(struct aj_channel *c, const char *step, const char *cause)
{
	aj_fail(&c->result->setup, AJ_EXIT_SETUP, step, 0, "%s", cause);
	return AJ_CHANNEL_FAILED;
}

static void advise_rootfs(struct aj_channel *c)
{
	if (c->masked)
		aj_advise(&c->result->setup, "the policy hides `%s` (filesystem.masks); the hidden file may be missing",
		          c->masked);
	aj_advise(&c->result->setup, "the rootfs does not fit: `agentjail rootfs verify`, or build it again");
}

unsigned aj_channel_open(struct aj_channel *c, int *fd, pid_t init, int filters, size_t result_bytes, struct aj_result *result)
{
	*c = (struct aj_channel){ .fd = fd, .init = init, .result = result };
	c->inbox.cap_bytes = 1 + AJ_NONCE_BYTES + result_bytes;
	if (*fd < 0)
		return 0;
	if (filters < 0)
		return fail_setup(c, "attest",
		                  "the kernel does not count agentjail's own system call filters in /proc/self/status");
	c->filters = (size_t)filters + 1;
	return 0;
}

/* Shuts down only: the owner closes the socket. close() would not wake the reader while another process holds a duplicate. */
static void end_channel(struct aj_channel *c)
{
	shutdown(*c->fd, SHUT_RDWR);
	c->ended = true;
}

void aj_channel_arm(struct aj_channel *c, const struct aj_plan *plan, const struct aj_policy *policy, bool lasting)
{
	c->masked = aj_plan_masked_programs(plan);
	if (lasting) {
		aj_encode_frame(&c->outbox, AJ_FRAME_SESSION, "b", plan->branching);
		aj_encode_policy(&c->outbox, plan, policy);
	}
	aj_encode_arm(&c->outbox, plan);
}

void aj_channel_layer(struct aj_channel *c, const struct aj_policy *policy)
{
	aj_encode_layer(&c->outbox, policy);
}

int aj_channel_request(struct aj_channel *c, bool lasting, const struct aj_plan *plan, const struct aj_policy *policy,
                       const struct aj_request *request, struct aj_error *err)
{
	if (lasting && getrandom(c->nonce, sizeof c->nonce, 0) != sizeof c->nonce)
		return aj_fail(err, AJ_EXIT_SETUP, "request", errno, "draw random bytes");
	if (aj_encode_request(c->armed ? &c->outbox : &c->request, lasting ? c->nonce : NULL, plan, policy, request, err) < 0)
		return -1;
	c->nonced = lasting;
	c->busy = true;
	c->started = c->answered = false;
	return 0;
}

int aj_channel_branch(struct aj_channel *c, struct aj_error *err)
{
	char entropy[AJ_ENTROPY_BYTES];
	if (getrandom(entropy, sizeof entropy, 0) != sizeof entropy)
		return aj_fail(err, AJ_EXIT_SETUP, "branch", errno, "draw random bytes");
	aj_encode_frame(&c->outbox, AJ_FRAME_BRANCH, entropy, sizeof entropy);
	c->branching++;
	return 0;
}

void aj_channel_tool(struct aj_channel *c, const char *text, size_t bytes)
{
	if (!c->busy || *c->fd < 0 || c->ended)
		return;
	aj_encode_frame(&c->outbox, AJ_FRAME_TOOL, text, bytes);
	c->unread++;
}

static bool reads_too_little(struct aj_channel *c)
{
	struct aj_buffer *b = &c->outbox;
	while (c->unread_at < b->sent) {
		size_t end = c->unread_at + AJ_FRAME_LENGTH + aj_frame_length(b->data + c->unread_at);
		if (end > b->sent)
			break;
		c->unread -= b->data[c->unread_at + AJ_FRAME_LENGTH] == AJ_FRAME_TOOL;
		c->unread_at = end;
	}
	return c->unread > UNREAD_MAX || b->bytes - b->sent > UNREAD_BYTES;
}

/* Everything was sent, or the peer is gone. */
static void empty_outbox(struct aj_channel *c)
{
	struct aj_buffer *b = &c->outbox;
	if (b->room > KEPT_BYTES)
		aj_buffer_free(b);
	b->sent = b->bytes = c->unread_at = c->unread = 0;
}

/* Frees the space of sent frames; else a jail that always leaves a little unread would make the buffer grow without bound. */
static void compact_outbox(struct aj_channel *c)
{
	struct aj_buffer *b = &c->outbox;
	size_t gone = c->unread_at;
	if (gone < KEPT_BYTES || gone < b->bytes / 2)
		return;
	memmove(b->data, b->data + gone, b->bytes - gone);
	b->bytes -= gone;
	b->sent -= gone;
	c->unread_at = 0;
}

bool aj_channel_writing(const struct aj_channel *c)
{
	return c->outbox.sent < c->outbox.bytes;
}

void aj_channel_write(struct aj_channel *c)
{
	struct aj_buffer *b = &c->outbox;
	ssize_t n = send(*c->fd, b->data + b->sent, b->bytes - b->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		b->sent += (size_t)n;
	int error = n < 0 && errno != EAGAIN && errno != EINTR ? errno : 0;
	if (b->sent == b->bytes || error)
		empty_outbox(c);
	/* EPIPE: the peer's earlier messages can be read. After other errors a frame may be cut off: the channel ends. */
	if (error && error != EPIPE && error != ECONNRESET)
		end_channel(c);
	else if (b->sent > KEPT_BYTES && !reads_too_little(c))
		compact_outbox(c);
}

/* The runner claims to be armed; ask the kernel before any code is handed over. */
static unsigned on_armed(struct aj_channel *c, pid_t sender)
{
	const char *wrong = aj_channel_writing(c) ? "the runner says that it is armed before it was sent its filters"
	                  : !c->expected          ? aj_procfs_check_walls(sender, c->init, c->filters)
	                  : sender != c->expected ? "a process other than the branch reports that the branch is armed"
	                                          : aj_procfs_check_fork(sender, c->filters);
	if (wrong)
		return fail_setup(c, "attest", wrong);
	c->armed = true;
	c->runner = sender;
	aj_buffer_free(&c->outbox);
	c->outbox = c->request;
	c->unread_at = c->unread = 0;
	c->request = (struct aj_buffer){ 0 };
	return AJ_CHANNEL_ARMED;
}

static unsigned close_with(struct aj_channel *c, unsigned found, const char *why)
{
	aj_ascii(c->why, sizeof c->why, why);
	c->broken = true;
	json_decref(c->result->claim); /* no claim of a broken channel is passed on */
	c->result->claim = NULL;
	return found;
}

static unsigned fail_protocol(struct aj_channel *c, const char *why)
{
	return close_with(c, AJ_CHANNEL_BROKEN, why);
}

/* Where a frame's JSON begins: behind its kind, and behind a result's nonce. */
static size_t json_at(const struct aj_channel *c, uint8_t kind)
{
	return 1 + (kind == AJ_FRAME_RESULT && c->nonced ? AJ_NONCE_BYTES : 0);
}

/* JSON is checked as it arrives: a long message takes many short steps, and a call needs no parsed tree. `body`: the frame from
 * its kind on, as far as it has arrived. */
static void scan_json(struct aj_channel *c, const char *body)
{
	uint8_t kind = (uint8_t)*body;
	size_t from = json_at(c, kind) + c->scan.at;
	bool call = kind == AJ_FRAME_CALL;
	if ((!call && kind != AJ_FRAME_RESULT) || from >= c->inbox.have)
		return;
	c->scan.max_values = call ? c->call_values : AJ_CLAIM_VALUES;
	aj_scan_feed(&c->scan, body + from, c->inbox.have - from);
}

/* A result that the jail made up earlier, or kept for later, lacks this snippet's nonce. */
static unsigned on_result(struct aj_channel *c, const char *frame, size_t bytes)
{
	char why[160];
	size_t skip = json_at(c, AJ_FRAME_RESULT);
	if (bytes < skip || memcmp(frame + 1, c->nonce, skip - 1) != 0)
		return fail_protocol(c, "a result of another snippet");
	const char *wrong = aj_scan_end(&c->scan);
	if (wrong) {
		snprintf(why, sizeof why, "not JSON of at most %d values in %d levels: at byte %zu %s", AJ_CLAIM_VALUES,
		         AJ_SCAN_DEPTH, c->scan.at, wrong);
		return fail_protocol(c, why);
	}
	c->result->claim = aj_claim_parse(frame + skip, bytes - skip, why, sizeof why);
	if (!c->result->claim)
		return fail_protocol(c, why);
	c->busy = false;
	c->answered = true;
	if (c->started && strcmp(aj_claim_status(c->result->claim), "rejected") == 0)
		return AJ_CHANNEL_ANSWERED | fail_protocol(c, "`rejected` after the code was started");
	return AJ_CHANNEL_ANSWERED;
}

static unsigned on_frame(struct aj_channel *c, const char *frame, pid_t sender)
{
	uint8_t kind = (uint8_t)*frame;
	const char *body = frame + 1;
	size_t bytes = c->inbox.want - 1;
	if (kind == AJ_FRAME_ARMED && !c->armed)
		return on_armed(c, sender);
	if (kind == AJ_FRAME_LISTENER && !c->armed && !c->listener_sender && bytes == sizeof(int32_t)) {
		int32_t number;
		memcpy(&number, body, sizeof number);
		c->listener = number;
		c->listener_sender = sender;
		return AJ_CHANNEL_LISTENER;
	}
	if ((kind == AJ_FRAME_FAILED || kind == AJ_FRAME_REFUSED) && !c->armed) {
		char said[160], text[160];
		snprintf(said, sizeof said, "%.*s", (int)bytes, body);
		aj_ascii(text, sizeof text, said);
		fail_setup(c, "runner", text);
		if (kind == AJ_FRAME_FAILED)
			advise_rootfs(c);
		return AJ_CHANNEL_FAILED;
	}
	if (kind == AJ_FRAME_BRANCH && c->branching && bytes == sizeof(int32_t)) {
		int32_t answer;
		memcpy(&answer, body, sizeof answer);
		c->branching--;
		c->branch_errnum = answer > 0 && answer < 4096 ? answer : 0;
		return AJ_CHANNEL_BRANCHED;
	}
	if (kind == AJ_FRAME_STARTED && c->armed && c->busy && !c->started) {
		c->started = true;
		return 0;
	}
	if (kind == AJ_FRAME_CALL && c->started && c->busy && c->on_call) {
		if (reads_too_little(c))
			return fail_protocol(c, "it does not read the answers to its calls");
		const char *why;
		unsigned found = c->on_call(c->on_call_arg, body, bytes, &c->scan, &why);
		return found ? close_with(c, found, why) : 0;
	}
	if (kind == AJ_FRAME_RESULT && c->armed && c->busy)
		return on_result(c, frame, c->inbox.want);
	return fail_protocol(c, "a message out of order");
}

unsigned aj_channel_read(struct aj_channel *c)
{
	char chunk[AJ_CHUNK_BYTES];
	char *there = aj_frame_room(&c->inbox, AJ_CHUNK_BYTES); /* a long message is read in place, not copied */
	pid_t sender;
	size_t room = c->inbox.body ? AJ_CHUNK_BYTES : AJ_SMALL_CHUNK_BYTES;
	ssize_t n = aj_recv_from(*c->fd, there ? there : chunk, room, MSG_DONTWAIT, &sender, NULL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		end_channel(c);
		return 0;
	}
	bool idle = c->armed && !aj_channel_writing(c);
	unsigned found = 0;
	c->reading = true;
	for (ssize_t at = 0; at < n && !c->broken;) {
		const char *frame = NULL;
		long used = n;
		if (there)
			frame = aj_frame_filled(&c->inbox, (size_t)n);
		else
			used = aj_frame_feed(&c->inbox, chunk + at, (size_t)(n - at), &frame);
		if (used < 0) {
			found |= fail_protocol(c, c->inbox.want ? "larger than a result may be" : "a message without a kind");
			break;
		}
		at += used;
		if (c->inbox.have)
			scan_json(c, frame ? frame : c->inbox.body);
		if (frame) {
			found |= on_frame(c, frame, sender);
			aj_frame_next(&c->inbox);
			c->scan = (struct aj_scan){ 0 };
		}
	}
	c->reading = false;
	/* The runner writes a length in one piece, and the kernel keeps it whole: a part of a length is not from the runner, and
	 * the rest may never come. */
	if (!c->broken && (size_t)n < room && c->inbox.head_bytes > 0 && c->inbox.head_bytes < AJ_FRAME_LENGTH)
		found |= fail_protocol(c, "bytes that are not a message");
	/* Send the answers that are due, in one piece; with a backlog the loop reports when the socket is writable. */
	if (idle && aj_channel_writing(c) && !c->broken)
		aj_channel_write(c);
	return found;
}

void aj_channel_ended(struct aj_channel *c)
{
	if (c->armed)
		return;
	if (c->expected) {
		fail_setup(c, "branch", "it ended before it said that it is armed");
		return;
	}
	fail_setup(c, "runner", "Python ended before the runner had installed the filter; no code was handed over");
	advise_rootfs(c);
}

void aj_channel_free(struct aj_channel *c)
{
	aj_frame_next(&c->inbox);
	aj_buffer_free(&c->outbox);
	aj_buffer_free(&c->request);
}
