/* Composes audit records.
 * It decides nothing about a run, writes no file, and keeps a jail's claims apart from observed facts. */
#include "jail/audit/record.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "jail/audit/composer.h"
#include "jail/audit/denials.h"
#include "jail/audit/split_long_records.h"

/* Size limits of the parts, counted with escapes; denials.c has its own. The first four are always in the record's own line, and
 * their part that the caller chooses is below half a line. Each of the others may fill further lines
 * (jail/audit/split_long_records.h). */
enum {
	SHORT_BYTES = 1 << 10, /* each: id, host, the policy's name where its object is left out */
	ARGV_BYTES = 2 << 10,
	CWD_BYTES = 1 << 10,
	REASON_BYTES = 1 << 10,
	POLICY_BYTES = 16 << 10,
	IMPORTS_BYTES = 8 << 10,
	ENFORCED_BYTES = 6 << 10,
};

static void set_member(struct aj_composer *c, const char *key, json_t *value)
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

static json_t *policy_json(struct aj_composer *c, json_t *policy)
{
	if (!policy)
		return json_null();
	json_t *name = json_object_get(policy, "name"), *sha256 = json_object_get(policy, "sha256");
	bool short_name = json_dumpb(name, NULL, 0, JSON_ENSURE_ASCII | JSON_ENCODE_ANY) <= SHORT_BYTES;
	if (short_name && json_dumpb(policy, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY) <= POLICY_BYTES)
		return json_incref(policy);
	c->truncated = true;
	return json_pack("{s:o, s:o}", "name", aj_composer_short(c, json_string_value(name), SHORT_BYTES), "sha256",
	                 aj_composer_short(c, json_string_value(sha256), AJ_SHA256_HEX));
}

/* The SHA-256 of all arguments, each with its NUL: a truncated `argv` can still be compared. */
static void argv_hash(struct aj_composer *c, char **argv)
{
	size_t bytes = 0, at = 0;
	json_int_t count = 0;
	char hash[AJ_SHA256_HEX];
	for (char **a = argv; *a; a++, count++)
		bytes += strlen(*a) + 1;
	char *joined = malloc(bytes);
	if (!joined)
		return;
	for (char **a = argv; *a; at += strlen(*a) + 1, a++)
		memcpy(joined + at, *a, strlen(*a) + 1);
	aj_sha256(joined, bytes, hash);
	free(joined);
	set_member(c, "argv_count", json_integer(count));
	set_member(c, "argv_sha256", json_string(hash));
}

static void argv_json(struct aj_composer *c, char **argv)
{
	size_t budget = ARGV_BYTES;
	json_t *list = json_array(), *one;
	bool truncated = c->truncated;
	c->truncated = false;
	for (char **a = argv; a && *a && !c->truncated && (one = aj_composer_item(c, *a, strlen(*a), &budget)); a++)
		json_array_append_new(list, one);
	set_member(c, "argv", list);
	if (c->truncated)
		argv_hash(c, argv);
	c->truncated |= truncated;
}

/* Short members first: a log that truncates lines keeps them. */
static void begin_record(struct aj_composer *c, const char *event, const struct aj_request *request)
{
	char host[HOST_NAME_MAX + 1] = "";
	gethostname(host, sizeof host - 1);
	c->doc = json_object();
	set_member(c, "v", json_integer(1));
	set_member(c, "event", json_string(event));
	set_member(c, "id", aj_composer_short(c, request->id, SHORT_BYTES));
	set_member(c, "time", time_now());
	set_member(c, "host", aj_composer_short(c, host, SHORT_BYTES));
	set_member(c, "pid", json_integer(getpid()));
	set_member(c, "user", user_json());
	set_member(c, "command", json_string(request->is_snippet ? "exec" : "run"));
}

/* Members of both records: each names code and policy. sha: the hash of the code; "": compute it. */
static void describe_run(struct aj_composer *c, const struct aj_request *request, const char *sha, json_t *policy)
{
	char cwd[PATH_MAX], hash[AJ_SHA256_HEX];
	set_member(c, "policy", policy_json(c, policy));
	if (request->is_snippet) {
		/* Of a session's code only the hash is kept until the run ends; setting variables has no code. */
		if (!*sha)
			aj_sha256(request->snippet.code ? request->snippet.code : "",
			          request->snippet.code ? request->snippet.code_bytes : 0, hash);
		set_member(c, "code_sha256", json_string(*sha ? sha : hash));
	} else {
		argv_json(c, request->command.argv);
	}
	set_member(c, "cwd", aj_composer_short(c, getcwd(cwd, sizeof cwd), CWD_BYTES));
}

static json_t *end_record(struct aj_composer *c)
{
	if (c->truncated)
		set_member(c, "truncated", json_true());
	return c->doc;
}

json_t *aj_record_start(const struct aj_request *request, json_t *policy)
{
	struct aj_composer c = { 0 };
	begin_record(&c, "start", request);
	describe_run(&c, request, "", policy);
	return end_record(&c);
}

static json_t *imports_json(struct aj_composer *c, const struct aj_result *r)
{
	size_t i, budget = IMPORTS_BYTES;
	json_t *list = json_array(), *one, *name;
	json_array_foreach(json_object_get(r->claim, "imports"), i, name) {
		if (!(one = aj_composer_item(c, json_string_value(name), json_string_length(name), &budget)))
			break;
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *enforced_json(struct aj_composer *c, const struct aj_plan *plan, const struct aj_result *r)
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
		json_object_set_new(walls, wall->wall, aj_composer_text(c, by, strlen(by), &budget));
	}
	return walls;
}

static json_int_t milliseconds(uint64_t us)
{
	return (json_int_t)((us + 999) / 1000);
}

static json_t *time_of(int64_t us)
{
	return time_json(us / 1000000, us / 1000 % 1000);
}

static json_t *connection_json(const struct aj_network_use *network, size_t i)
{
	const struct aj_network_connection *one = &network->connections[i];
	return json_pack("{s:s, s:s, s:i, s:o, s:I, s:I, s:I}", "host", one->host, "address", one->address, "port", one->port,
	                 "time", time_of(one->began_us), "lasted_ms", (json_int_t)(one->lasted_us / 1000), "bytes_out",
	                 (json_int_t)one->bytes_out, "bytes_in", (json_int_t)one->bytes_in);
}

static json_t *published_json(const struct aj_network_use *network, size_t i)
{
	const struct aj_network_published *one = &network->published[i];
	return json_pack("{s:s, s:i, s:i, s:o, s:I, s:I, s:I}", "client", one->client, "port", one->port, "guest_port",
	                 one->guest_port, "time", time_of(one->began_us), "lasted_ms", (json_int_t)(one->lasted_us / 1000),
	                 "bytes_out", (json_int_t)one->bytes_out, "bytes_in", (json_int_t)one->bytes_in);
}

static json_t *answer_json(const struct aj_network_use *network, size_t i)
{
	const struct aj_network_answer *one = &network->answers[i];
	json_int_t waited_ms = one->waited_us / 1000;
	json_t *json = json_pack("{s:s, s:i, s:s, s:s, s:o, s:I}", "host", one->host, "port", one->port, "answer", one->answer,
	                         "by", one->by, "time", time_of(one->answered_us), "waited_ms", waited_ms);
	if (one->why[0])
		json_object_set_new(json, "why", json_string(one->why));
	return json;
}

static void begin_network_record(struct aj_composer *c, const char *event, const struct aj_request *request)
{
	set_member(c, "v", json_integer(1));
	set_member(c, "event", json_string(event));
	set_member(c, "id", aj_composer_short(c, request->id, SHORT_BYTES));
	set_member(c, "time", time_now());
}

json_t *aj_record_network(const struct aj_request *request, const struct aj_network_use *network, size_t *at)
{
	const struct {
		const char *event;
		size_t count;
		json_t *(*one)(const struct aj_network_use *network, size_t i);
	} kinds[] = {
		{ "answers", network->answer_count, answer_json },
		{ "connections", network->connection_count, connection_json },
		{ "published", network->published_count, published_json },
	};
	size_t kind = 0, before = 0;
	while (kind < sizeof kinds / sizeof *kinds && *at >= before + kinds[kind].count)
		before += kinds[kind++].count;
	if (kind == sizeof kinds / sizeof *kinds)
		return NULL;
	struct aj_composer c = { .doc = json_object() };
	json_t *list = json_array();
	begin_network_record(&c, kinds[kind].event, request);
	set_member(&c, kinds[kind].event, list);
	size_t used = json_dumpb(c.doc, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII);
	for (size_t end = before + kinds[kind].count; *at < end; ++*at) {
		json_t *one = kinds[kind].one(network, *at - before);
		used += json_dumpb(one, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII) + 1;
		if (used > AJ_RECORD_BYTES && json_array_size(list)) {
			json_decref(one);
			break;
		}
		json_array_append_new(list, one);
	}
	return c.doc;
}

/* Without the list of failures, which is in the result. NULL without a network. */
static json_t *sums_json(const struct aj_network_use *network)
{
	json_t *json = aj_network_json(network);
	if (json)
		json_object_del(json, "failed");
	return json;
}

json_t *aj_record_last_network(const struct aj_request *request, const struct aj_network_use *network)
{
	struct aj_composer c = { .doc = json_object() };
	begin_network_record(&c, "network", request);
	set_member(&c, "network", sums_json(network));
	return c.doc;
}

json_t *aj_record_end(const struct aj_request *request, json_t *policy, const struct aj_plan *plan, const struct aj_result *r)
{
	struct aj_composer c = { 0 };
	bool ran = r->status != AJ_STATUS_SETUP_ERROR;
	begin_record(&c, "end", request);
	set_member(&c, "status", json_string(aj_status_name(r->status)));
	set_member(&c, "reason", aj_composer_short(&c, r->reason, REASON_BYTES));
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
	json_t *network = sums_json(&r->network);
	if (network)
		set_member(&c, "network", network);
	describe_run(&c, request, r->code_sha256, policy);
	set_member(&c, "enforced", ran ? enforced_json(&c, plan, r) : json_object());
	set_member(&c, "denials", aj_record_denials(&c, r));
	if (plan->snippet)
		set_member(&c, "claimed", json_pack("{s:o}", "imports", imports_json(&c, r)));
	return end_record(&c);
}
