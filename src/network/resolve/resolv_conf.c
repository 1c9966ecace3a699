/* The two options of resolv.conf(5) that some versions of c-ares do not read, and the number of name servers they apply to. */
#include "network/resolve/resolv_conf.h"

#include <stdbool.h>
#include <string.h>

enum {
	DEFAULT_MS = 2500, /* libc has 5 s: too long where one of several name servers is dead */
	LEAST_MS = 300,
	MOST_S = 10,
	DEFAULT_ATTEMPTS = 2,
	MOST_ATTEMPTS = 5,
	MOST_SERVERS = 8,
};

static const char blanks[] = " \t\r";

/* `word` begins with `name`: the number behind it, from 1 to `most`; 0: it is another option. */
static int option(const char *word, const char *name, int most)
{
	size_t bytes = strlen(name);
	if (strncmp(word, name, bytes) != 0)
		return 0;
	int value = 0;
	for (const char *digit = word + bytes; *digit >= '0' && *digit <= '9' && value <= most; digit++)
		value = 10 * value + (*digit - '0');
	return value < 1 ? 1 : value > most ? most : value;
}

/* A line with options: the words behind the first one. */
static void read_options(const char *at, const char *end, struct aj_resolv_options *o)
{
	while (at < end) {
		at += strspn(at, blanks);
		int timeout_s = option(at, "timeout:", MOST_S), attempts = option(at, "attempts:", MOST_ATTEMPTS);
		o->timeout_ms = timeout_s ? timeout_s * 1000 : o->timeout_ms;
		o->attempts = attempts ? attempts : o->attempts;
		at += strcspn(at, " \t\r\n");
	}
}

static bool has_word(const char *line, const char *word)
{
	size_t bytes = strlen(word);
	return strncmp(line, word, bytes) == 0 && (line[bytes] == ' ' || line[bytes] == '\t');
}

struct aj_resolv_options aj_resolv_options(const char *text)
{
	struct aj_resolv_options o = { .timeout_ms = DEFAULT_MS, .attempts = DEFAULT_ATTEMPTS };
	int servers = 0;
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *end = line + strcspn(line, "\n");
		if (has_word(line, "nameserver") && servers < MOST_SERVERS)
			servers++;
		else if (has_word(line, "options"))
			read_options(line + strcspn(line, " \t"), end, &o);
	}
	/* Attempt by attempt, the wait for each name server doubles. */
	int waits = ((1 << o.attempts) - 1) * (servers ? servers : 1);
	if (o.timeout_ms * waits > AJ_RESOLV_WAIT_MS)
		o.timeout_ms = AJ_RESOLV_WAIT_MS / waits;
	if (o.timeout_ms < LEAST_MS) {
		o.timeout_ms = LEAST_MS;
		while (o.attempts > 1 && LEAST_MS * ((1 << o.attempts) - 1) * servers > AJ_RESOLV_WAIT_MS)
			o.attempts--;
	}
	return o;
}
