/* Fuzzes what a jail says on its control socket, across snippets: bytes are a list of acts of the jail and of the supervisor.
 * The other end is a socket here and the kernel's word a coin's. Beyond not crashing: no claim but in its turn, no call but of a
 * declared tool, nothing kept beyond its cap, and an end that has its reason. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/channel/channel.h"
#include "jail/result/claim.h"
#include "policy/plan/plan.h"
#include "policy/seccomp/compile.h"
#include "policy/seccomp/syscalls.h"
#include "session/calls.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
const char *__wrap_aj_procfs_check_walls(pid_t pid, pid_t init, size_t filters);
int __wrap_aj_encode_request(struct aj_buffer *b, const char *nonce, const struct aj_plan *plan, const struct aj_policy *policy,
                             const struct aj_request *request, struct aj_error *err);

enum { RESULT_BYTES = 4096, ROOM = 4 << 20 };

static struct aj_loop *loop;
static struct aj_channel channel;
static struct aj_result result;
static struct aj_calls calls;
static bool attested;
static unsigned called;

static void must(bool holds, const char *rule)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s (why: %s)\n", rule, channel.why);
	abort();
}

const char *__wrap_aj_procfs_check_walls(pid_t pid, pid_t init, size_t filters)
{
	(void)pid, (void)init, (void)filters;
	return attested ? NULL : "a coin says no";
}

int __wrap_aj_encode_request(struct aj_buffer *b, const char *nonce, const struct aj_plan *plan, const struct aj_policy *policy,
                             const struct aj_request *request, struct aj_error *err)
{
	(void)plan, (void)policy, (void)request, (void)err;
	aj_encode_frame(b, nonce ? AJ_FRAME_SNIPPET : AJ_FRAME_REQUEST, nonce ? nonce : "", nonce ? AJ_NONCE_BYTES : 0);
	return 0;
}

static void on_call(void *arg, const struct aj_tool_call *call)
{
	(void)arg;
	called++;
	must(channel.armed && channel.busy && channel.started, "a call comes while a snippet runs");
	must(strcmp(call->tool->name, "t") == 0 && json_is_object(call->args), "a call is of a declared tool");
	json_t *n = json_object_get(call->args, "n");
	must(!n || json_is_integer(n), "its arguments fit");
}

static void send_answer(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	aj_channel_tool(&channel, text, bytes);
}

/* Symbols that the fuzzed code links with and never reaches. */
const char aj_syscall_names[AJ_SYSCALL_NUMBERS][24];

const struct aj_syscall *aj_syscalls_refusal(enum aj_profile profile, enum aj_network network, uint64_t deny, const char *name,
                                             const uint64_t args[6])
{
	(void)profile, (void)network, (void)deny, (void)name, (void)args;
	abort();
}

struct aj_filter aj_filter_build(enum aj_profile profile, enum aj_network network, uint64_t deny, struct sock_filter *room)
{
	(void)profile, (void)network, (void)deny, (void)room;
	abort();
}

struct aj_filter aj_filter_above(enum aj_profile profile, uint64_t deny, struct sock_filter *room)
{
	(void)profile, (void)deny, (void)room;
	abort();
}

const char *aj_builtins_name(enum aj_builtins builtins)
{
	(void)builtins;
	abort();
}

/* The shape that readers of the result rely on. */
static void look_at_error(const json_t *error)
{
	size_t i;
	json_t *item;
	must(!error || json_is_null(error) || json_is_object(error), "an error is an object");
	if (!json_is_object(error))
		return;
	must(json_is_string(json_object_get(error, "type")) && json_is_string(json_object_get(error, "message")),
	     "it has a type and a message");
	must(!json_object_get(error, "step") && !json_object_get(error, "fix"), "it has no member of the supervisor's");
	json_array_foreach(json_object_get(error, "frames"), i, item)
		must(i < 40 && json_is_integer(json_object_get(item, "line")), "a frame has a line");
	json_array_foreach(json_object_get(error, "chain"), i, item)
		must(i < 8 && json_is_string(json_object_get(item, "message")) && !json_object_get(item, "chain"), "a chain is flat");
}

static void look(unsigned found)
{
	must(!(found & AJ_CHANNEL_ARMED) || (channel.armed && attested), "armed is what the kernel says");
	must(!(found & AJ_CHANNEL_LISTENER) || !channel.armed || found & AJ_CHANNEL_ARMED, "a listener is named before it is armed");
	must(!(found & AJ_CHANNEL_ANSWERED) || channel.answered, "an answer ends a snippet");
	must(!(found & AJ_CHANNEL_BROKEN) == !channel.broken, "broken once");
	must(!channel.broken || (!result.claim && *channel.why), "what is broken has a reason and no claim");
	must(!result.claim || (channel.answered && !channel.busy), "a claim is an answer");
	must(!channel.started || channel.armed, "nothing starts unarmed");
	must(channel.inbox.room <= 1 + RESULT_BYTES + AJ_NONCE_BYTES, "no body is larger than it may be");
	must(channel.outbox.room <= ROOM, "what is kept for a jail that does not read is bounded");
	for (const char *c = channel.why; *c; c++)
		must(*c >= ' ' && *c < 0x7f, "a reason is plain");
	if (result.claim)
		must(strcmp(aj_claim_status(result.claim), "ok") == 0 || strcmp(aj_claim_status(result.claim), "error") == 0 ||
		         strcmp(aj_claim_status(result.claim), "rejected") == 0,
		     "a claim's status is one of three");
	look_at_error(json_object_get(result.claim, "error"));
}

static void put(int fd, const void *data, size_t bytes)
{
	/* Full: as if the jail waited. */
	if (send(fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
}

static void next_snippet(bool lasting)
{
	struct aj_error err = { 0 };
	if (channel.busy || channel.broken)
		return;
	json_decref(result.claim);
	result.claim = NULL;
	aj_calls_drop(&calls);
	aj_channel_request(&channel, lasting, NULL, NULL, NULL, &err);
}

/* One act; how many of the bytes it took. */
static size_t act(int theirs, const unsigned char *data, size_t bytes)
{
	enum { FRAME, RAW, MINE, LENGTH, READ, WRITE, SNIPPET, LAST, ANSWER, LISTEN, TAKE, COIN, ACTS };
	static char sink[65536];
	unsigned char header[AJ_FRAME_HEADER + AJ_NONCE_BYTES];
	size_t length = bytes > 2 ? data[1] | (size_t)(data[2] & 0x1f) << 8 : 0, used = 3 + length < bytes ? 3 + length : bytes;
	const unsigned char *body = data + (bytes < 3 ? bytes : 3);
	size_t have = used - (size_t)(body - data);
	switch (data[0] % ACTS) {
	case FRAME: /* of the kind of its first byte */
		aj_frame_header(header, have ? (uint32_t)have - 1 : 0, have ? body[0] : 0);
		put(theirs, header, AJ_FRAME_HEADER);
		put(theirs, body + !!have, have - !!have);
		return used;
	case RAW:
		put(theirs, body, have);
		return used;
	case MINE: /* a result with the right nonce, which the agent can find in its memory */
		aj_frame_header(header, (uint32_t)(have + (channel.nonced ? AJ_NONCE_BYTES : 0)), AJ_FRAME_RESULT);
		memcpy(header + AJ_FRAME_HEADER, channel.nonce, AJ_NONCE_BYTES);
		put(theirs, header, AJ_FRAME_HEADER + (channel.nonced ? AJ_NONCE_BYTES : 0));
		put(theirs, body, have);
		return used;
	case LENGTH: { /* one that is announced, and does not come */
		unsigned char claimed[AJ_FRAME_HEADER] = { 0 };
		memcpy(claimed, data + 1, bytes - 1 < sizeof claimed ? bytes - 1 : sizeof claimed);
		put(theirs, claimed, sizeof claimed);
		return bytes < 6 ? bytes : 6;
	}
	case READ:
		break;
	case WRITE:
		if (aj_channel_writing(&channel))
			aj_channel_write(&channel);
		break;
	case SNIPPET:
		next_snippet(true);
		break;
	case LAST:
		next_snippet(false);
		break;
	case ANSWER:
		for (size_t i = 0; i < AJ_CALLS_MAX; i++)
			if (calls.waiting[i].call.tool) {
				struct aj_error err = { 0 };
				json_t *value = json_string("an answer");
				aj_calls_value(&calls, calls.waiting[i].call.number, value, &err);
				json_decref(value);
				break;
			}
		break;
	case LISTEN: { /* a listener's number, and some descriptor comes along */
		union {
			char data[CMSG_SPACE(sizeof(int))];
			struct cmsghdr align;
		} space = { { 0 } };
		struct iovec iov = { (void *)(size_t) "\4\0\0\0L\7\0\0\0", 9 };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space.data, .msg_controllen = sizeof space.data };
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(c), &theirs, sizeof(int));
		if (sendmsg(theirs, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return 1;
		break;
	}
	case TAKE:
		if (recv(theirs, sink, bytes > 1 ? (size_t)data[1] * 200 + 1 : 1, MSG_DONTWAIT) < 0)
			return 1;
		return bytes > 1 ? 2 : 1;
	case COIN:
		attested = !attested;
		return 1;
	}
	if (!channel.ended && !channel.broken)
		look(aj_channel_read(&channel));
	return 1;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
	int ends[2];
	struct aj_error err = { 0 };
	if ((!loop && !(loop = aj_loop_new())) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	memset(&result, 0, sizeof result);
	attested = true;
	aj_calls_init(&calls, loop, on_call, send_answer, NULL);
	json_t *tools = json_pack("[{s:s, s:s, s:{s:s, s:{s:{s:s}}}}]", "name", "t", "description", "d", "parameters", "type",
	                          "object", "properties", "n", "type", "integer");
	if (aj_calls_declare(&calls, tools, &err) < 0)
		abort();
	json_decref(tools);
	aj_channel_open(&channel, &ends[0], 1, 0, RESULT_BYTES, &result);
	channel.on_call = aj_calls_take;
	channel.on_call_arg = &calls;
	channel.call_values = AJ_TOOL_CALL_VALUES;
	for (size_t at = 0; at < bytes;)
		at += act(ends[1], data + at, bytes - at);
	while (!channel.ended && !channel.broken) {
		aj_close(&ends[1]); /* it is gone: what it said is read to its end */
		look(aj_channel_read(&channel));
	}
	aj_calls_free(&calls);
	aj_channel_free(&channel);
	json_decref(result.claim);
	aj_close(&ends[0]);
	aj_close(&ends[1]);
	return 0;
}
