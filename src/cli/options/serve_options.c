/* The options of `agentjail serve` alone: its policies and sockets, and its numbers with syntax, range and default of each.
 * A value out of its range is refused, not clamped. */
#include "cli/options/serve_options.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

enum { MOST_MS = 7 * 24 * 3600 * 1000 };
enum { SPARE_JAILS = 16 }; /* for runs outside sessions, if only --sessions-max is given */

/* clang-format off */
static const struct number {
	const char *option;
	size_t member; /* of struct aj_server_config */
	bool (*parse)(const char *text, uint64_t *ret);
	uint64_t min, max;
	const char *fallback;
} numbers[] = {
#define NUMBER(option, member, ...) { option, offsetof(struct aj_server_config, member), __VA_ARGS__ },
	NUMBER("--shards", shards, aj_parse_count, 1, 64, "1")
	NUMBER("--parked", parked, aj_parse_count, 0, 64, "2")
	NUMBER("--jails-max", jails_max, aj_parse_count, 1, 100000, "64")
	NUMBER("--sessions-max", sessions_max, aj_parse_count, 0, 100000, "48")
	NUMBER("--tenant-sessions", tenant_sessions, aj_parse_count, 0, 100000, "0")
	NUMBER("--queue-max", queue_max, aj_parse_count, 0, 100000, "256")
	NUMBER("--queue-time", queue_ms, aj_parse_duration, 0, MOST_MS, "1m")
	NUMBER("--clients-max", clients_max, aj_parse_count, 1, 10000, "64")
	NUMBER("--pools-max", pools_max, aj_parse_count, 1, 10000, "16")
	NUMBER("--idle", idle_ms, aj_parse_duration, 0, MOST_MS, "15m")
	NUMBER("--lifetime", lifetime_ms, aj_parse_duration, 0, MOST_MS, "0")
	NUMBER("--grace", grace_ms, aj_parse_duration, 0, MOST_MS, "10s")
	NUMBER("--request-max", request_bytes, aj_parse_bytes, 4096, 64 << 20, "4M")
	NUMBER("--request-time", request_ms, aj_parse_duration, 100, MOST_MS, "10s")
	NUMBER("--unread-max", unread_bytes, aj_parse_bytes, 65536, 1 << 30, "32M")
#undef NUMBER
};
/* clang-format on */

static const char *add_policy(struct aj_serve_options *serving, const char *v, struct aj_arena *arena)
{
	*AJ_PUSH(arena, &serving->asks) = (struct aj_ask){ .name = v };
	return aj_policy_name_valid(v) ? NULL : "not a policy's name (letters, digits, - and _); for a file use --policy-file";
}

static const char *add_policy_file(struct aj_serve_options *serving, const char *v, struct aj_arena *arena)
{
	*AJ_PUSH(arena, &serving->asks) = (struct aj_ask){ .file = v };
	return *v ? NULL : "empty";
}

static const char *set_socket(struct aj_serve_options *serving, const char *v, struct aj_arena *arena)
{
	(void)arena;
	serving->config.socket = v;
	return v[0] == '/' ? NULL : "not an absolute path";
}

static const char *set_connection(struct aj_serve_options *serving, const char *v, struct aj_arena *arena)
{
	(void)arena;
	uint64_t fd;
	if (!aj_parse_count(v, &fd) || fd < 3 || fd > INT_MAX)
		return "not the number of an inherited descriptor, from 3";
	serving->config.connection = (int)fd;
	return NULL;
}

static const char *set_metrics(struct aj_serve_options *serving, const char *v, struct aj_arena *arena)
{
	(void)arena;
	serving->config.metrics = v;
	return v[0] == '/' || strchr(v, ':') ? NULL : "neither an absolute path nor ADDRESS:PORT";
}

static const struct {
	const char *option;
	const char *(*set)(struct aj_serve_options *serving, const char *value, struct aj_arena *arena);
} others[] = {
	{ "--policy", add_policy },         { "--policy-file", add_policy_file }, { "--socket", set_socket },
	{ "--connection", set_connection }, { "--metrics", set_metrics },
};

static const struct number *find_number(const char *option)
{
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (strcmp(numbers[i].option, option) == 0)
			return &numbers[i];
	return NULL;
}

const char *aj_serve_options_set(struct aj_serve_options *serving, const char *option, const char *value, struct aj_arena *arena)
{
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(others[i].option, option) == 0)
			return others[i].set(serving, value, arena);
	const struct number *row = find_number(option);
	uint64_t number;
	if (!row->parse(value, &number))
		return row->parse == aj_parse_count    ? "not a number"
		     : row->parse == aj_parse_duration ? "not a time, such as 500ms, 10s or 2m"
		                                       : "not a size, such as 64K or 4M";
	if (number < row->min || number > row->max)
		return aj_printf(arena, "not from %lu to %lu%s", (unsigned long)row->min, (unsigned long)row->max,
		                 row->parse == aj_parse_duration ? " ms" : "");
	*(uint64_t *)((char *)&serving->config + row->member) = number;
	serving->jails_given |= row->member == offsetof(struct aj_server_config, jails_max);
	serving->sessions_given |= row->member == offsetof(struct aj_server_config, sessions_max);
	return NULL;
}

int aj_serve_options_relate(struct aj_serve_options *serving, struct aj_error *err)
{
	struct aj_server_config *c = &serving->config;
	if (!serving->jails_given && c->sessions_max > c->jails_max)
		c->jails_max = c->sessions_max + SPARE_JAILS;
	if (!serving->sessions_given && c->sessions_max > c->jails_max)
		c->sessions_max = c->jails_max;
	if (c->sessions_max <= c->jails_max)
		return 0;
	aj_fail(err, AJ_EXIT_USAGE, "options", 0,
	        "--sessions-max %lu exceeds --jails-max %lu: each session needs a jail, so %lu of them could not open",
	        (unsigned long)c->sessions_max, (unsigned long)c->jails_max, (unsigned long)(c->sessions_max - c->jails_max));
	aj_advise(err, "raise --jails-max to %lu or more (runs outside sessions need jails too), or lower --sessions-max",
	          (unsigned long)c->sessions_max);
	return -1;
}

void aj_serve_options_defaults(struct aj_serve_options *ret)
{
	ret->config.connection = -1;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		numbers[i].parse(numbers[i].fallback, (uint64_t *)((char *)&ret->config + numbers[i].member));
}

const char *aj_serve_options_default(const char *option)
{
	const struct number *row = find_number(option);
	return row ? row->fallback : NULL;
}
