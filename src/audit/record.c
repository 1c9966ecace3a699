/* Composes audit records.
 * It decides nothing about a run, writes no file, and keeps a jail's claims apart from observed facts. */
#include "audit/record.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

/* Each part's share of a line's 64 KiB, counted with escapes. */
enum {
	SHORT_BYTES = 1 << 10, /* each: id, host, login id, and the like */
	ARGV_BYTES = 16 << 10,
	CWD_BYTES = 4 << 10,
	POLICY_BYTES = 8 << 10,
	REASON_BYTES = 4 << 10,
	IMPORTS_BYTES = 8 << 10,
	DENIALS_BYTES = 10 << 10,
	DENIAL_BYTES = 1 << 10, /* each text of one denial */
	ENFORCED_BYTES = 6 << 10,
	LARGEST_BYTES = ARGV_BYTES,
};

struct composer {
	json_t *doc;
	bool truncated;
};

/* Any bytes as a JSON string of at most *budget bytes, which the budget is reduced by. Invalid UTF-8 is written as \xNN; JSON itself
 * escapes control characters. */
static json_t *budget_text(struct composer *c, const char *s, size_t bytes, size_t *budget)
{
	static const char hex[] = "0123456789abcdef";
	char out[LARGEST_BYTES];
	size_t at = 0, left = *budget < sizeof out ? *budget : sizeof out, before = left;
	for (size_t i = 0; i < bytes;) {
		unsigned char lead = (unsigned char)s[i];
		size_t n = aj_utf8_first(s + i, bytes - i);
		bool valid = n && lead != 0x7f;
		size_t cost = !valid ? 5 : n == 4 ? 12 : n > 1 || lead < 0x20 ? 6 : lead == '"' || lead == '\\' ? 2 : 1;
		if (cost > left) {
			c->truncated = true;
			break;
		}
		left -= cost;
		if (valid) {
			memcpy(out + at, s + i, n);
			at += n;
			i += n;
		} else {
			memcpy(out + at, (char[]){ '\\', 'x', hex[lead >> 4], hex[lead & 15] }, 4);
			at += 4;
			i++;
		}
	}
	*budget -= before - left;
	return json_stringn_nocheck(out, at);
}

static json_t *short_text(struct composer *c, const char *s, size_t budget)
{
	return s ? budget_text(c, s, strlen(s), &budget) : json_null();
}

/* A string in a list, whose quotes and comma count too; NULL when the budget is too small for a useful part of it. */
static json_t *list_text(struct composer *c, const char *s, size_t bytes, size_t *budget)
{
	if (*budget < 16) {
		c->truncated = true;
		return NULL;
	}
	*budget -= 3;
	return budget_text(c, s, bytes, budget);
}

static void set_member(struct composer *c, const char *key, json_t *value)
{
	json_object_set_new(c->doc, key, value);
}

static json_t *time_json(time_t s, long ms)
{
	struct tm utc;
	char seconds[32];
	gmtime_r(&s, &utc);
	strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
	return json_sprintf("%s.%03ldZ", seconds, ms);
}

static json_t *time_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return time_json(now.tv_sec, now.tv_nsec / 1000000);
}

static json_t *user_json(void)
{
	char text[32];
	uint64_t login;
	json_t *user = json_pack("{s:I, s:I}", "uid", (json_int_t)getuid(), "gid", (json_int_t)getgid());
	/* The login id, also behind sudo. UINT32_MAX: there was no login, as in a service. */
	if (aj_read_text("/proc/self/loginuid", text, sizeof text) > 0 && aj_parse_count(text, &login) && login < UINT32_MAX)
		json_object_set_new(user, "login", json_integer((json_int_t)login));
	return user;
}

static json_t *policy_json(struct composer *c, json_t *policy)
{
	if (!policy)
		return json_null();
	if (json_dumpb(policy, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY) <= POLICY_BYTES)
		return json_incref(policy);
	c->truncated = true;
	return json_pack("{s:o, s:o}", "name", short_text(c, json_string_value(json_object_get(policy, "name")), SHORT_BYTES),
	                 "sha256", short_text(c, json_string_value(json_object_get(policy, "sha256")), SHORT_BYTES));
}

/* The SHA-256 of all arguments, each with its NUL: a truncated `argv` can still be compared. */
static void argv_hash(struct composer *c, char **argv)
{
	size_t bytes = 0, at = 0;
	char hash[AJ_SHA256_HEX];
	for (char **a = argv; *a; a++)
		bytes += strlen(*a) + 1;
	char *joined = malloc(bytes);
	if (!joined)
		return;
	for (char **a = argv; *a; at += strlen(*a) + 1, a++)
		memcpy(joined + at, *a, strlen(*a) + 1);
	aj_sha256(joined, bytes, hash);
	free(joined);
	set_member(c, "argv_sha256", json_string(hash));
}

static void argv_json(struct composer *c, char **argv)
{
	size_t budget = ARGV_BYTES;
	json_t *list = json_array(), *one;
	bool truncated = c->truncated;
	c->truncated = false;
	for (char **a = argv; a && *a && !c->truncated && (one = list_text(c, *a, strlen(*a), &budget)); a++)
		json_array_append_new(list, one);
	set_member(c, "argv", list);
	if (c->truncated)
		argv_hash(c, argv);
	c->truncated |= truncated;
}

/* Begin a record with the members of both records, so that each by itself names code, user and policy. `sha`: the code's; "": compute it. */
static void begin_record(struct composer *c, const char *event, const struct aj_request *request, const char *sha, json_t *policy)
{
	char host[HOST_NAME_MAX + 1] = "", cwd[PATH_MAX], hash[AJ_SHA256_HEX];
	gethostname(host, sizeof host - 1);
	c->doc = json_object();
	set_member(c, "v", json_integer(1));
	set_member(c, "event", json_string(event));
	set_member(c, "id", short_text(c, request->id, SHORT_BYTES));
	set_member(c, "time", time_now());
	set_member(c, "host", short_text(c, host, SHORT_BYTES));
	set_member(c, "pid", json_integer(getpid()));
	set_member(c, "user", user_json());
	set_member(c, "command", json_string(request->snippet ? "exec" : "run"));
	set_member(c, "policy", policy_json(c, policy));
	if (request->snippet) {
		/* Of a session's code only the hash is kept until the run ends; setting variables has no code. */
		if (!*sha)
			aj_sha256(request->code ? request->code : "", request->code ? request->code_bytes : 0, hash);
		set_member(c, "code_sha256", json_string(*sha ? sha : hash));
	} else {
		argv_json(c, request->argv);
	}
	set_member(c, "cwd", short_text(c, getcwd(cwd, sizeof cwd), CWD_BYTES));
}

static json_t *end_record(struct composer *c)
{
	if (c->truncated)
		set_member(c, "truncated", json_true());
	return c->doc;
}

json_t *aj_record_start(const struct aj_request *request, json_t *policy)
{
	struct composer c = { 0 };
	begin_record(&c, "start", request, "", policy);
	return end_record(&c);
}

/* Add a refusal by the layer: a claim from inside the jail, and so of any shape. False: the budget is spent. */
static bool add_denial(struct composer *c, json_t *list, const json_t *error, size_t *budget)
{
	static const char *const keys[] = { "rule", "message" };
	const json_t *line = json_object_get(error, "line");
	if (!json_is_string(json_object_get(error, "rule")))
		return true;
	if (*budget < 256) {
		c->truncated = true;
		return false;
	}
	*budget -= 100; /* for keys, quotes and a number */
	json_t *denial = json_pack("{s:s}", "by", "layer");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const json_t *value = json_object_get(error, keys[i]);
		size_t room = *budget < DENIAL_BYTES ? *budget : DENIAL_BYTES, left = room;
		if (json_is_string(value))
			json_object_set_new(denial, keys[i], budget_text(c, json_string_value(value), json_string_length(value), &left));
		*budget -= room - left;
	}
	if (json_is_integer(line))
		json_object_set_new(denial, "line", json_integer(json_integer_value(line)));
	json_array_append_new(list, denial);
	return true;
}

/* The kernel's refusals are few and short, and come first, so that claims cannot use up their budget. */
static void add_violations(json_t *list, const struct aj_violations *v, size_t *budget)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct aj_violation *one = &v->items[i];
		json_t *denial = json_pack("{s:s, s:s, s:s, s:I}", "by", "kernel", "rule", one->row->name, "message",
		                           one->row->why, "count", (json_int_t)one->count);
		*budget -= json_dumpb(denial, NULL, 0, JSON_COMPACT) + 1;
		json_array_append_new(list, denial);
	}
}

static bool add_refused_host(struct composer *c, json_t *list, const struct aj_network_trouble *one, size_t *budget)
{
	json_t *denial = json_pack("{s:s, s:o, s:s, s:I}", "by", "relay", "rule",
	                           one->port ? json_sprintf("%s:%u", one->host, one->port) : json_string(one->host), "message",
	                           one->why, "count", (json_int_t)one->count);
	size_t bytes = json_dumpb(denial, NULL, 0, JSON_COMPACT) + 1;
	if (bytes > *budget) {
		c->truncated = true;
		json_decref(denial);
		return false;
	}
	*budget -= bytes;
	json_array_append_new(list, denial);
	return true;
}

/* Imports that were tried and refused while the code ran, whether or not it coped with that. */
static void add_imports_refused(struct composer *c, json_t *list, const json_t *refused, size_t *budget)
{
	size_t i;
	json_t *one;
	bool room = true;
	json_array_foreach(refused, i, one) {
		const char *module = json_string_value(json_object_get(one, "module"));
		json_t *denial = json_pack("{s:s, s:o, s:O}", "rule", "PY-IMPORT", "message",
		                           json_sprintf("Import of %s is not allowed", module), "line", json_object_get(one, "line"));
		room = room && add_denial(c, list, denial, budget);
		json_decref(denial);
	}
}

static json_t *denials_json(struct composer *c, const struct aj_result *r)
{
	size_t i, budget = DENIALS_BYTES;
	json_t *list = json_array(), *errors = json_object_get(r->claim, "errors"), *one;
	const json_t *refused = json_object_get(r->claim, "imports_refused"), *error = json_object_get(r->claim, "error");
	const char *rule = json_string_value(json_object_get(error, "rule"));
	add_violations(list, &r->violations, &budget);
	for (i = 0; i < r->network.refused.count && add_refused_host(c, list, &r->network.refused.items[i], &budget); i++)
		;
	add_imports_refused(c, list, refused, &budget);
	/* A guard's refusal at run time; an import's is in the list above already. */
	if (json_array_size(errors) == 0 && !(json_array_size(refused) && rule && strcmp(rule, "PY-IMPORT") == 0))
		add_denial(c, list, error, &budget);
	json_array_foreach(errors, i, one)
		if (!add_denial(c, list, one, &budget))
			break;
	return list;
}

static json_t *imports_json(struct composer *c, const struct aj_result *r)
{
	size_t i, budget = IMPORTS_BYTES;
	json_t *list = json_array(), *one, *name;
	json_array_foreach(json_object_get(r->claim, "imports"), i, name) {
		if (!(one = list_text(c, json_string_value(name), json_string_length(name), &budget)))
			break;
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *enforced_json(struct composer *c, const struct aj_plan *plan, const struct aj_result *r)
{
	size_t budget = ENFORCED_BYTES;
	char room[AJ_WALL_TEXT];
	json_t *walls = json_object();
	for (size_t i = 0; i < plan->enforced.count; i++) {
		const struct aj_enforced *wall = &plan->enforced.items[i];
		const char *by = aj_result_wall(r, plan, wall, room);
		size_t name_bytes = strlen(wall->wall) + 6;
		if (budget < name_bytes) {
			c->truncated = true;
			break;
		}
		budget -= name_bytes;
		json_object_set_new(walls, wall->wall, budget_text(c, by, strlen(by), &budget));
	}
	return walls;
}

static json_int_t milliseconds(uint64_t us)
{
	return (json_int_t)((us + 999) / 1000);
}

json_t *aj_record_connections(const struct aj_request *request, const struct aj_network_use *network, size_t *at)
{
	enum { MOST = 100 }; /* each takes 500 bytes at most */
	struct composer c = { .doc = json_object() };
	json_t *list = json_array();
	for (size_t end = *at + MOST; *at < network->listed && *at < end; ++*at) {
		const struct aj_network_connection *one = &network->connections[*at];
		json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:o, s:I, s:I, s:I}", "host", one->host, "address",
		                                      one->address, "port", one->port, "time",
		                                      time_json(one->began_us / 1000000, one->began_us / 1000 % 1000),
		                                      "lasted_ms", (json_int_t)(one->lasted_us / 1000), "bytes_out",
		                                      (json_int_t)one->bytes_out, "bytes_in", (json_int_t)one->bytes_in));
	}
	set_member(&c, "v", json_integer(1));
	set_member(&c, "event", json_string("connections"));
	set_member(&c, "id", short_text(&c, request->id, SHORT_BYTES));
	set_member(&c, "time", time_now());
	set_member(&c, "connections", list);
	if (json_array_size(list))
		return c.doc;
	json_decref(c.doc);
	return NULL;
}

json_t *aj_record_end(const struct aj_request *request, json_t *policy, const struct aj_plan *plan, const struct aj_result *r)
{
	struct composer c = { 0 };
	bool ran = r->status != AJ_STATUS_SETUP_ERROR;
	begin_record(&c, "end", request, r->code_sha256, policy);
	set_member(&c, "status", json_string(aj_status_name(r->status)));
	set_member(&c, "reason", short_text(&c, r->reason, REASON_BYTES));
	set_member(&c, "exit_code", r->exit_code >= 0 && ran ? json_integer(r->exit_code) : json_null());
	set_member(&c, "signal", r->signal ? json_integer(r->signal) : json_null());
	/* Output that is not captured is not counted. */
	json_t *usage = json_pack("{s:I, s:I, s:I, s:o}", "wall_ms", milliseconds(r->wall_us), "cpu_ms", milliseconds(r->cpu_us),
	                          "peak_memory_bytes", (json_int_t)r->peak_memory_bytes, "output_bytes",
	                          plan->capture ? json_integer((json_int_t)r->out.total_bytes + (json_int_t)r->err.total_bytes)
	                                        : json_null());
	aj_usage_json(usage, &r->leaf);
	set_member(&c, "usage", usage);
	json_t *limits = json_array();
	for (size_t i = 0; i < r->limits_hit_count; i++)
		json_array_append_new(limits, json_string(r->limits_hit[i]));
	set_member(&c, "limits_hit", limits);
	set_member(&c, "enforced", ran ? enforced_json(&c, plan, r) : json_object());
	set_member(&c, "denials", denials_json(&c, r));
	json_t *network = aj_network_json(&r->network);
	if (network) /* failures are many lines, and the result's */
		json_object_del(network, "failed");
	if (network)
		set_member(&c, "network", network);
	if (plan->snippet)
		set_member(&c, "claimed", json_pack("{s:o}", "imports", imports_json(&c, r)));
	return end_record(&c);
}
