/* Tests of channel/channel with a jail that is a socket here: what it keeps for whom does not read, and what a late answer does.
 * That the runner is armed is set, not shown: escape/protocol.sh has the kernel say so. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/channel/channel.h"
#include "jail/result/claim.h"
#include "peer.h"

static struct aj_channel channel;
static struct aj_result result;
static int ours, theirs;
static unsigned calls;

enum { VALUES = 20000 };
static size_t seen_values, seen_bytes;
static bool seen_many;

static unsigned on_call(void *arg, const char *body, size_t bytes, struct aj_scan *scan, const char **ret_why)
{
	(void)arg, (void)bytes;
	seen_many = aj_scan_too_many(scan);
	seen_values = aj_scan_end(scan) ? 0 : scan->values;
	seen_bytes = scan->at;
	calls++;
	*ret_why = "that is enough";
	return *body == '!' ? AJ_CHANNEL_REFUSED : 0;
}

static void start(void)
{
	int ends[2];
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ours = ends[0];
	theirs = ends[1];
	cr_assert_eq(aj_channel_open(&channel, &ours, getpid(), 0, 1 << 20, &result), 0);
	channel.on_call = on_call;
	channel.call_values = VALUES;
	channel.armed = channel.busy = channel.started = true;
}

static void done(void)
{
	aj_channel_free(&channel);
	aj_close(&ours);
	aj_close(&theirs);
}
TestSuite(channel, .init = start, .fini = done);

static char text[4096];

static void answer(void)
{
	memset(text, ' ', sizeof text);
	aj_channel_tool(&channel, text, sizeof text);
}

/* Never all of it is read, and so the outbox never empty. */
Test(channel, a_reader_that_lags_makes_it_keep_only_what_is_unread)
{
	static char sink[AJ_FRAME_HEADER + sizeof text];
	for (int i = 0; i < 500; i++)
		answer();
	for (int i = 0; i < 20000; i++) {
		answer();
		aj_channel_write(&channel);
		cr_assert_eq(aj_read_all(theirs, sink, sizeof sink), 0);
		cr_assert_eq(sink[AJ_FRAME_HEADER - 1], AJ_FRAME_TOOL, "the frames are whole and in order");
		cr_assert(aj_channel_writing(&channel));
	}
	cr_expect_leq(channel.outbox.room, 16U << 20);
	say(theirs, AJ_FRAME_CALL, "{}");
	cr_expect_eq(aj_channel_read(&channel), 0);
	cr_expect_eq(calls, 1);
}

Test(channel, a_jail_that_reads_nothing_may_not_go_on_calling)
{
	unsigned found = 0;
	while (calls < 100000 && !found) {
		say(theirs, AJ_FRAME_CALL, "{}");
		found = aj_channel_read(&channel);
		if (!found)
			answer();
		if (aj_channel_writing(&channel))
			aj_channel_write(&channel);
	}
	cr_expect_eq(found, AJ_CHANNEL_BROKEN);
	cr_expect_str_eq(channel.why, "it does not read the answers to its calls");
	cr_expect_leq(calls, 1024 + 256);
	cr_expect_geq(calls, 1000);
}

/* Frames that the jail sent before it ended are read, although an answer could not be sent any more. */
Test(channel, an_answer_that_comes_too_late_loses_no_result)
{
	say(theirs, AJ_FRAME_RESULT, "{\"status\":\"ok\"}");
	aj_close(&theirs);
	answer();
	aj_channel_write(&channel);
	cr_expect(!aj_channel_writing(&channel));
	cr_expect_geq(ours, 0);
	cr_expect(aj_channel_read(&channel) & (AJ_CHANNEL_ANSWERED | AJ_CHANNEL_BROKEN), "it was read");
}

Test(channel, room_of_a_big_answer_is_given_back)
{
	char *big = calloc(1, 8 << 20), *sink = malloc((8 << 20) + AJ_FRAME_HEADER);
	aj_channel_tool(&channel, big, 8 << 20);
	for (size_t got = 0; got < (8 << 20) + AJ_FRAME_HEADER;) {
		if (aj_channel_writing(&channel))
			aj_channel_write(&channel);
		ssize_t n = recv(theirs, sink, 8 << 20, MSG_DONTWAIT);
		got += n > 0 ? (size_t)n : 0;
	}
	cr_expect_eq(channel.outbox.room, 0);
	answer();
	cr_expect(aj_channel_writing(&channel));
	free(big);
	free(sink);
}

/* Of another snippet: made up earlier, or kept. */
Test(channel, a_result_without_this_snippets_nonce)
{
	channel.nonced = true;
	memcpy(channel.nonce, "12345678", AJ_NONCE_BYTES);
	say(theirs, AJ_FRAME_RESULT, "12345679{\"status\":\"ok\"}");
	cr_expect_eq(aj_channel_read(&channel), AJ_CHANNEL_BROKEN);
	cr_expect_null(result.claim);
	cr_expect_str_eq(channel.why, "a result of another snippet");
}

/* A branch may be armed, and the next one be asked for, before the original has said that it copied itself. */
Test(channel, answers_to_requests_for_branches_may_be_behind)
{
	const int32_t copied = 0;
	struct aj_error err;
	cr_assert_eq(aj_channel_branch(&channel, &err), 0);
	cr_assert_eq(aj_channel_branch(&channel, &err), 0);
	for (int i = 0; i < 2; i++) {
		say_bytes(theirs, AJ_FRAME_BRANCH, &copied, sizeof copied);
		cr_expect_eq(aj_channel_read(&channel), AJ_CHANNEL_BRANCHED);
	}
	say_bytes(theirs, AJ_FRAME_BRANCH, &copied, sizeof copied);
	cr_expect_eq(aj_channel_read(&channel), AJ_CHANNEL_BROKEN, "one answer more than there were requests");
}

/* The run is over, and with it who would answer. */
Test(channel, a_call_after_the_answer)
{
	say(theirs, AJ_FRAME_RESULT,
	    "{\"status\":\"ok\",\"value\":null,\"repr\":\"\",\"type\":\"\",\"error\":null,\"errors\":[],\"final_answer\":null,"
	    "\"is_final\":false,\"imports\":[],\"truncated\":{}}");
	cr_assert_eq(aj_channel_read(&channel), AJ_CHANNEL_ANSWERED);
	say(theirs, AJ_FRAME_CALL, "{}");
	cr_expect_eq(aj_channel_read(&channel), AJ_CHANNEL_BROKEN);
	cr_expect_eq(calls, 0);
	cr_expect_null(result.claim);
}

/* Another process may hold a copy of our end: the other one is told of the end all the same. */
Test(channel, an_end_is_one_whoever_holds_a_copy)
{
	char byte;
	int copy = dup(ours);
	shutdown(theirs, SHUT_WR);
	cr_expect_eq(aj_channel_read(&channel), 0);
	cr_expect(channel.ended);
	cr_expect_eq(recv(theirs, &byte, 1, MSG_DONTWAIT), 0, "its end");
	aj_close(&copy);
}

/* However many are there: an event loop has others to see to. */
Test(channel, a_flood_of_small_messages_is_taken_in_parts)
{
	enum { FLOOD = 2000, EACH = AJ_FRAME_HEADER + 2 };
	static char flood[FLOOD * EACH];
	for (size_t i = 0; i < FLOOD; i++) {
		aj_frame_header((unsigned char *)flood + i * EACH, 2, AJ_FRAME_CALL);
		memcpy(flood + i * EACH + AJ_FRAME_HEADER, "{}", 2);
	}
	cr_assert_eq(write(theirs, flood, sizeof flood), (ssize_t)sizeof flood); /* in one piece: small ones would fill the socket */
	unsigned steps = 0;
	while (calls < FLOOD && steps++ < FLOOD) {
		unsigned before = calls;
		cr_assert_eq(aj_channel_read(&channel), 0);
		cr_expect_leq(calls - before, AJ_SMALL_CHUNK_BYTES / EACH + 1);
		cr_assert_gt(calls, before);
	}
	cr_expect_eq(calls, FLOOD);
}

Test(channel, when_enough_was_refused_nothing_more_is_taken)
{
	say(theirs, AJ_FRAME_CALL, "!");
	say(theirs, AJ_FRAME_CALL, "{}");
	cr_expect_eq(aj_channel_read(&channel), AJ_CHANNEL_REFUSED);
	cr_expect_str_eq(channel.why, "that is enough");
	cr_expect_eq(calls, 1);
}

/* Its text is checked as it comes, and that of the next call by itself. */
Test(channel, a_call_in_pieces_was_seen_whole)
{
	static const char body[] = "{\"call\":1,\"tool\":\"t\",\"args\":{\"x\":[1,2,3]}}";
	unsigned char frame[AJ_FRAME_HEADER + sizeof body - 1];
	aj_frame_header(frame, sizeof body - 1, AJ_FRAME_CALL);
	memcpy(frame + AJ_FRAME_HEADER, body, sizeof body - 1);
	for (unsigned i = 0; i < 2; i++) {
		for (size_t at = 0, bytes = AJ_FRAME_LENGTH; at < sizeof frame; at += bytes, bytes = 1) {
			cr_assert_eq(aj_write_all(theirs, frame + at, bytes), 0);
			cr_expect_eq(aj_channel_read(&channel), 0);
		}
		cr_expect_eq(calls, 2 * i + 1);
		cr_expect_eq(seen_values, 8);
		say(theirs, AJ_FRAME_CALL, "[");
		cr_expect_eq(aj_channel_read(&channel), 0);
		cr_expect_eq(calls, 2 * i + 2);
		cr_expect_eq(seen_values, 0);
	}
}

/* The rest of such a length would be the next message's. */
Test(channel, a_part_of_a_length_is_refused_at_once)
{
	say(theirs, AJ_FRAME_CALL, "[");
	cr_assert_eq(aj_write_all(theirs, "\0", 1), 0);
	cr_expect_eq(aj_channel_read(&channel), AJ_CHANNEL_BROKEN);
	cr_expect_eq(calls, 1, "what came before it counts");
}

/* With the nonce before it. */
Test(channel, a_result_of_too_many_values)
{
	enum { MOST = AJ_CLAIM_VALUES - 3 };
	char *body = malloc(2 * MOST + 100);
	cr_assert_not_null(body);
	channel.inbox.cap_bytes = 2 * MOST + 100;
	channel.nonced = true;
	memcpy(channel.nonce, "12345678", AJ_NONCE_BYTES);
	for (unsigned more = 0; more < 2; more++) {
		unsigned found = 0;
		int n = sprintf(body, "12345678{\"status\":\"ok\",\"value\":[%s1", more ? "1," : "");
		for (unsigned i = 1; i < MOST; i++, n += 2)
			memcpy(body + n, ",1", 2);
		strcpy(body + n, "]}");
		unsigned char header[AJ_FRAME_HEADER];
		aj_frame_header(header, (uint32_t)strlen(body), AJ_FRAME_RESULT);
		cr_assert_eq(aj_write_all(theirs, header, sizeof header), 0);
		for (size_t at = 0, all = strlen(body); at < all && !found; at += 4096) {
			cr_assert_eq(aj_write_all(theirs, body + at, all - at < 4096 ? all - at : 4096), 0);
			found = aj_channel_read(&channel);
		}
		cr_expect_eq(found, more ? AJ_CHANNEL_BROKEN : AJ_CHANNEL_ANSWERED, "%s", channel.why);
		cr_expect_eq(result.claim != NULL, !more);
		json_decref(result.claim);
		result.claim = NULL;
		channel.busy = true;
	}
	cr_expect(strstr(channel.why, "at most 250000 values") && strstr(channel.why, "too many values"), "%s", channel.why);
	free(body);
}

/* A frame of one kind, written in parts as large as the socket takes them, and read as it comes. */
static void send_long(uint8_t kind, const char *body, size_t bytes)
{
	unsigned char header[AJ_FRAME_HEADER];
	unsigned before = calls;
	aj_frame_header(header, (uint32_t)bytes, kind);
	cr_assert_eq(aj_write_all(theirs, header, sizeof header), 0);
	for (size_t at = 0, n; at < bytes; at += n) {
		n = bytes - at < 3 * AJ_CHUNK_BYTES ? bytes - at : 3 * AJ_CHUNK_BYTES;
		cr_assert_eq(aj_write_all(theirs, body + at, n), 0);
		while (n == bytes - at ? calls == before : recv(ours, header, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
			cr_assert_eq(aj_channel_read(&channel), 0, "%s", channel.why);
	}
}

/* Bytes after the last value that a call may have are read from the socket, and not parsed. */
Test(channel, a_call_of_too_many_values_is_not_checked_to_its_end)
{
	static char body[400000] = "{\"call\":1,\"tool\":\"t\",\"args\":{\"x\":[1";
	size_t begin = strlen(body);
	memset(body + begin, '!', sizeof body - begin);
	for (size_t at = begin; at < begin + 2 * VALUES; at += 2)
		memcpy(body + at, ",1", 2);
	send_long(AJ_FRAME_CALL, body, sizeof body);
	cr_expect(seen_many);
	cr_expect_leq(seen_bytes, begin + 2 * VALUES);
	say(theirs, AJ_FRAME_CALL, "{\"call\":2}");
	cr_expect_eq(aj_channel_read(&channel), 0);
	cr_expect_eq(seen_values, 2);
	cr_expect_not(seen_many);
}

/* It is read to where it stays, what follows it is not. */
Test(channel, a_long_call_comes_whole)
{
	for (size_t bytes = 4 * AJ_CHUNK_BYTES - 2; bytes <= 4 * AJ_CHUNK_BYTES + 2; bytes++) {
		char *body = malloc(bytes + 1);
		memset(body, 'a', bytes);
		body[0] = body[bytes - 1] = '"';
		body[bytes] = '\0';
		send_long(AJ_FRAME_CALL, body, bytes);
		cr_expect_eq(seen_values, 1);
		cr_expect_eq(seen_bytes, bytes);
		free(body);
	}
	cr_expect_eq(calls, 5);
}
