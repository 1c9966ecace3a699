/* Fuzzes what reads the bytes of a jail's connections: the first byte chooses DNS, a ClientHello, HTTP, a rule of network.allow, or the
 * answer to a connection that is refused.
 * It opens no socket. Beyond not crashing: names are names, a verdict stands however the bytes are cut, answers fit and are no questions. */
#include <string.h>
#include <sys/socket.h>

#include "must.h"
#include "network/inspect/client_hello.h"
#include "network/inspect/dns.h"
#include "network/inspect/http_head.h"
#include "network/inspect/refusal.h"
#include "policy/hosts.h"
#include "policy/item_types.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);

static void is_name(const char *name, const char *extra)
{
	must(memchr(name, '\0', 254) != NULL, "a name ends");
	must(name[0] != '.' && (!*name || name[strlen(name) - 1] != '.') && !strstr(name, ".."), "a name has no empty label");
	for (const char *c = name; *c; c++)
		must((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || strchr(extra, *c), "a name is in lower case");
}

static void dns(const uint8_t *data, size_t bytes)
{
	struct aj_dns_query q, back;
	uint8_t out[AJ_DNS_ANSWER_BYTES];
	int r = aj_dns_parse(data, bytes, &q);
	if (r < 0)
		return;
	is_name(q.name, r ? "-_.?" : "-_.");
	must(q.question_bytes <= 255 + 4 && q.question_bytes + 12 <= bytes, "a question lies in its message");
	size_t least = aj_dns_answer(&q, data, (uint8_t)r, NULL, 0, "", out, sizeof out);
	size_t most = aj_dns_answer(&q, data, 0, "0123456789abcdef", 60, "why", out, sizeof out);
	must(least >= 12 && most >= least, "every question has room for its answer");
	must(aj_dns_parse(out, most, &back) == -1, "an answer is not answered");
	out[2] &= 0x7f;
	int again = aj_dns_parse(out, most, &back);
	must(back.id == q.id && strcmp(back.name, q.name) == 0 && (r == AJ_DNS_NOT_BUILT || !q.question_bytes || again == r),
	     "the question comes back as it was");
	must(aj_dns_answer(&q, data, 0, "0123456789abcdef", 60, "why", out, most - 1) == 0, "no answer is cut");
}

static void hello(const uint8_t *data, size_t bytes)
{
	char name[256], part[256];
	enum aj_hello whole = aj_client_hello(data, bytes, name);
	must(*name ? whole == AJ_HELLO_NAME || whole == AJ_HELLO_ECH : whole != AJ_HELLO_NAME, "a name is there when it is said to be");
	is_name(name, "-_.");
	must((aj_hello_why(whole) == NULL) == (whole == AJ_HELLO_MORE || whole == AJ_HELLO_NAME), "a refusal has a reason");
	for (size_t cut = 0, step = bytes / 16 + 1; cut < bytes; cut += step) {
		enum aj_hello found = aj_client_hello(data, cut, part);
		must(found == AJ_HELLO_MORE || (found == whole && strcmp(part, name) == 0), "a verdict stands when more bytes come");
	}
}

static size_t feed(struct aj_http *h, const uint8_t *data, size_t bytes, size_t piece)
{
	size_t passed = 0, there = 0;
	aj_http_begin(h, "api.test", 80);
	while (there < bytes) {
		size_t pass = SIZE_MAX;
		there = bytes - there < piece ? bytes : there + piece;
		if (aj_http_feed(h, data + passed, there - passed, &pass) == AJ_HTTP_REFUSED) {
			must(pass == 0 && *h->why, "a refusal passes nothing, and has a reason");
			return SIZE_MAX;
		}
		must(pass <= there - passed, "no more passes than there is");
		passed += pass;
	}
	return passed;
}

static void http(const uint8_t *data, size_t bytes)
{
	static struct aj_http one, two;
	size_t piece = bytes ? data[bytes - 1] % 32 + 1 : 1;
	must(feed(&one, data, bytes, bytes + 1) == feed(&two, data, bytes, piece), "a verdict stands however the bytes are cut");
	must(one.state == two.state && one.body_left == two.body_left && strcmp(one.why, two.why) == 0, "and so does the state");
	must(aj_http_looks(data, bytes, true) != AJ_HTTP_MORE, "what has ended is decided");
	aj_http_looks(data, bytes, false);
}

/* The bytes are a connection's first ones, and the sentence as well. */
static void refusal(const uint8_t *data, size_t bytes)
{
	char sentence[2048] = "";
	uint8_t out[AJ_REFUSAL_BYTES], part[AJ_REFUSAL_BYTES];
	size_t got = 0, some = 0, text = bytes < sizeof sentence ? bytes : sizeof sentence - 1;
	if (text)
		memcpy(sentence, data, text);
	enum aj_refusal whole = aj_refusal_answer(data, bytes, false, 8080, sentence, out, &got);
	must((whole == AJ_REFUSAL_ANSWERED) == (got > 0) && got < sizeof out, "an answer is there when it is said to be");
	for (size_t cut = 0, step = bytes / 16 + 1; cut < bytes; cut += step) {
		enum aj_refusal found = aj_refusal_answer(data, cut, false, 8080, sentence, part, &some);
		must(found == AJ_REFUSAL_MORE || found == whole, "the protocol stands when more bytes come");
	}
	const uint8_t *body = got ? memmem(out, got, "\r\n\r\n", 4) : NULL;
	if (got && out[0] == 'H')
		must(body && !memchr(body + 4, '\r', got - (size_t)(body + 4 - out)), "the sentence is in the text alone");
	must(aj_refusal_answer(data, bytes, true, 80, sentence, out, &got) != AJ_REFUSAL_MORE, "the last byte decides");
}

static void rule(const uint8_t *data, size_t bytes)
{
	static char text[4096];
	struct aj_host_rule r;
	if (bytes >= sizeof text)
		return;
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	if (aj_host_rule_parse(text, &r)) {
		must(!aj_host_covers(text, text), "what is no rule covers nothing");
		return;
	}
	must(aj_host_covers(text, text), "a rule covers itself");
	is_name(r.name, "-_.");
	must(r.port != 0 && (r.kind == AJ_HOST_NETWORK) == (r.name[0] == '\0'), "a rule has a port, and a name or an address");
	const uint8_t local[16] = { 127, 0, 0, 1 };
	must(aj_host_rule_has_address(&r, AF_INET, local, r.port) == (r.kind == AJ_HOST_LOOPBACK), "one kind has the host's loopback");
	must(r.kind == AJ_HOST_NETWORK ? r.bits != 0 : aj_host_rule_has_name(&r, r.name, r.port) == (r.kind != AJ_HOST_BELOW),
	     "a rule has what it names");
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
	static void (*const readers[])(const uint8_t *, size_t) = { dns, hello, http, rule, refusal };
	if (bytes)
		readers[data[0] % 5](data + 1, bytes - 1);
	return 0;
}
