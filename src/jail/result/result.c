/* The result as JSON: attested fields from the supervisor, claimed fields from the jail, never mixed.
 * It checks no claim (claim.c does), and trusts no value in one. */
#include "jail/result/result.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/tree.h"
#include "base/text.h"
#include "jail/result/capture.h"
#include "jail/result/fields.h"
#include "jail/result/for_model.h"

static const struct {
	const char *name;
	int exit_code;
} statuses[] = {
	[AJ_STATUS_OK] = { "ok", AJ_EXIT_OK },
	[AJ_STATUS_ERROR] = { "error", AJ_EXIT_ERROR },
	[AJ_STATUS_REJECTED] = { "rejected", AJ_EXIT_REJECTED },
	[AJ_STATUS_TIMEOUT] = { "timeout", AJ_EXIT_TIMEOUT },
	[AJ_STATUS_OOM] = { "oom", AJ_EXIT_OOM },
	[AJ_STATUS_LIMIT] = { "limit", AJ_EXIT_LIMIT },
	[AJ_STATUS_SIGNAL] = { "signal", AJ_EXIT_SIGNAL },
	[AJ_STATUS_PROTOCOL_ERROR] = { "protocol_error", AJ_EXIT_PROTOCOL },
	[AJ_STATUS_SETUP_ERROR] = { "setup_error", AJ_EXIT_SETUP },
};

const char *aj_status_name(enum aj_status status)
{
	return statuses[status].name;
}

int aj_status_exit_code(const struct aj_result *r, const struct aj_plan *plan)
{
	if (r->status == AJ_STATUS_SIGNAL)
		return AJ_EXIT_SIGNAL + r->signal;
	if (r->status == AJ_STATUS_SETUP_ERROR)
		return r->setup.exit_code;
	if (r->status == AJ_STATUS_ERROR && !plan->snippet)
		return r->exit_code;
	return statuses[r->status].exit_code;
}

/* Nothing ran in a jail that could not be set up, so there `error` is the supervisor's. */
static void add_claims(struct aj_members *m, const struct aj_result *r)
{
	for (const struct aj_field *f = aj_fields; r->claim && f->path; f++) {
		const json_t *value = f->claimed && aj_field_is_name(f->path) ? json_object_get(r->claim, f->path) : NULL;
		if (value && !(r->status == AJ_STATUS_SETUP_ERROR && strcmp(f->path, "error") == 0))
			aj_buffer_json(aj_member(m, f->path), value);
	}
}

static json_t *error_json(const char *type, const struct aj_error *e)
{
	char text[600];
	aj_error_text(e, text, sizeof text);
	return json_pack("{s:s, s:s, s:o, s:s}", "type", type, "step", e->step, "message", aj_json_text(text, strlen(text)),
	                 "fix", e->fix);
}

void aj_usage_json(json_t *usage, const struct aj_leaf_usage *leaf)
{
	if (leaf->knows_throttling)
		json_object_set_new(usage, "throttled_ms", json_integer((json_int_t)((leaf->throttled_us + 999) / 1000)));
	if (leaf->knows_io) {
		json_object_set_new(usage, "io_read_bytes", json_integer((json_int_t)leaf->io_read_bytes));
		json_object_set_new(usage, "io_written_bytes", json_integer((json_int_t)leaf->io_written_bytes));
	}
}

/* Without a cgroup the peak is that of the largest process, however many there were. */
static json_t *usage_json(const struct aj_result *r)
{
	json_t *usage = json_object();
	json_object_set_new(usage, "peak_memory",
	                    json_string(r->leaf.peak_bytes ? "cgroup v2 memory.peak" : "largest process (ru_maxrss)"));
	aj_usage_json(usage, &r->leaf);
	return usage;
}

json_t *aj_files_json(const struct aj_policy *policy)
{
	json_t *files = json_array();
	for (size_t i = 0; i < policy->files.count; i++) {
		const struct aj_policy_file *f = &policy->files.items[i];
		json_t *file = aj_json_text(f->file, strlen(f->file));
		json_array_append_new(files, json_pack("{s:o, s:s}", "file", file, "sha256", f->sha256));
	}
	return files;
}

json_t *aj_policy_json(const struct aj_policy *policy, const struct aj_request *request)
{
	char seed[40];
	json_t *options = json_array();
	for (size_t i = 0; i < policy->options.count; i++)
		json_array_append_new(options, aj_json_text(policy->options.items[i], strlen(policy->options.items[i])));
	snprintf(seed, sizeof seed, "request: seed = %" PRIu64, request ? request->snippet.seed.value : 0);
	if (request && request->snippet.seed.given)
		json_array_append_new(options, json_string(seed));
	const char *sha256 = policy->files.count ? policy->files.items[0].sha256 : NULL;
	return json_pack("{s:s, s:s?, s:o, s:o}", "name", policy->name, "sha256", sha256, "files", aj_files_json(policy),
	                 "options", options);
}

json_t *aj_violations_json(const struct aj_violations *v)
{
	json_t *list = json_array();
	for (size_t i = 0; i < v->count; i++) {
		const struct aj_violation *one = &v->items[i];
		json_t *pids = json_array();
		for (size_t p = 0; p < one->pids_count; p++)
			json_array_append_new(pids, json_integer(one->pids[p]));
		json_array_append_new(list, json_pack("{s:s, s:I, s:o, s:s, s:s}", "syscall", one->row->name, "count",
		                                      (json_int_t)one->count, "pids", pids, "why", one->row->why, "instead",
		                                      one->row->instead));
	}
	return list;
}

bool aj_result_note_no_overlay(struct aj_result *r, const struct aj_plan *plan, const char *target, int errnum)
{
	size_t used = strlen(r->bound);
	for (size_t i = 0; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		if (!(m->flags & AJ_OVERLAY) || strcmp(m->target, target) != 0)
			continue;
		const char *why = errnum == EBUSY ? "another mount lies there" : strerror(errnum);
		int n = snprintf(r->bound + used, sizeof r->bound - used, "%s%s (%s)", used ? ", " : "", m->target, why);
		if (n < 0 || (size_t)n >= sizeof r->bound - used)
			strcpy(r->bound, "more read-only folders than can be listed");
		return true;
	}
	return false;
}

const char *aj_result_wall(const struct aj_result *r, const struct aj_plan *plan, const struct aj_enforced *wall,
                           char room[AJ_WALL_TEXT])
{
	if (r->layer && strcmp(wall->wall, AJ_PYTHON_LAYER) == 0)
		return r->layer;
	const char *by = wall->by;
	if (strcmp(wall->wall, AJ_UNIX_SOCKETS) == 0) {
		const char *without_listener = r->sockets ? r->sockets->without_listener : plan->without_listener;
		if (!r->violations.seen && without_listener)
			by = without_listener;
		else if (r->sockets && r->sockets->by)
			by = r->sockets->by;
	}
	if (!r->violations.seen && plan->deny & AJ_LOCKS_MEDIATED && strcmp(wall->wall, AJ_LOCKS) == 0)
		by = "refused: the supervisor cannot listen to the jail's filter here, so locks cannot be mediated";
	if (!r->bound[0] || strcmp(wall->wall, "filesystem") != 0)
		return by;
	snprintf(room, AJ_WALL_TEXT, "%s; no overlay, and so the host's FIFOs, at or below %s", by, r->bound);
	return room;
}

json_t *aj_enforced_json(const struct aj_result *r, const struct aj_plan *plan)
{
	char room[AJ_WALL_TEXT];
	json_t *enforced = json_object();
	for (size_t i = 0; i < plan->enforced.count; i++) {
		const struct aj_enforced *wall = &plan->enforced.items[i];
		const char *by = aj_result_wall(r, plan, wall, room);
		json_object_set_new(enforced, wall->wall, aj_json_text(by, strlen(by)));
	}
	return enforced;
}

json_t *aj_result_refused_json(const char *id, enum aj_status status, const char *type, const struct aj_error *err)
{
	char text[600];
	aj_error_text(err, text, sizeof text);
	json_t *doc = json_pack("{s:s, s:s, s:o}", "id", id, "status", aj_status_name(status), "reason",
	                        aj_json_text(text, strlen(text)));
	json_object_set_new(doc, "error", error_json(type, err));
	return doc;
}

void aj_common_free(struct aj_common *c)
{
	aj_buffer_free(&c->enforced);
	aj_buffer_free(&c->policy);
	*c = (struct aj_common){ 0 };
}

static void add_json(struct aj_buffer *text, json_t *value /* stolen */)
{
	aj_buffer_json(text, value);
	json_decref(value);
}

static void add_enforced(struct aj_members *m, struct aj_common *c, const struct aj_result *r, const struct aj_plan *plan)
{
	if (!c || r->bound[0]) {
		aj_member_json(m, "enforced", aj_enforced_json(r, plan));
		return;
	}
	if (c->layer != r->layer || c->sockets != r->sockets || c->seen != r->violations.seen)
		c->enforced.bytes = 0;
	if (!c->enforced.bytes) {
		add_json(&c->enforced, aj_enforced_json(r, plan));
		c->layer = r->layer;
		c->sockets = r->sockets;
		c->seen = r->violations.seen;
	}
	aj_buffer_add(aj_member(m, "enforced"), c->enforced.data, c->enforced.bytes);
}

static void add_policy(struct aj_members *m, struct aj_common *c, const struct aj_policy *policy, const struct aj_request *asked)
{
	if (!c || asked->snippet.seed.given) {
		aj_member_json(m, "policy", aj_policy_json(policy, asked));
		return;
	}
	if (!c->policy.bytes)
		add_json(&c->policy, aj_policy_json(policy, asked));
	aj_buffer_add(aj_member(m, "policy"), c->policy.data, c->policy.bytes);
}

static void add_string(struct aj_members *m, const char *name, const char *text)
{
	aj_buffer_string(aj_member(m, name), text, strlen(text));
}

/* Its bytes may be the jail's. */
static void add_text(struct aj_members *m, const char *name, const char *text)
{
	aj_member_json(m, name, aj_json_text(text, strlen(text)));
}

static void add_number(struct aj_members *m, const char *name, uint64_t number)
{
	aj_buffer_number(aj_member(m, name), number);
}

static void add_number_or_null(struct aj_members *m, const char *name, bool known, int number)
{
	aj_member_json(m, name, known ? json_integer(number) : json_null());
}

/* Calls that the kernel refused, and the network's relay. */
static void add_refusals(struct aj_members *m, const struct aj_result *r)
{
	json_t *violations = aj_violations_json(&r->violations), *network = aj_network_json(&r->network);
	aj_network_add_violations(&r->network, violations);
	aj_member_json(m, "violations", violations);
	aj_member_json(m, "violations_seen", json_boolean(r->violations.seen));
	if (network)
		aj_member_json(m, "network", network);
}

static void add_limits(struct aj_members *m, const struct aj_result *r, const struct aj_plan *plan)
{
	json_t *limits = json_array();
	for (size_t i = 0; i < r->limits_hit_count; i++)
		json_array_append_new(limits, json_string(r->limits_hit[i]));
	aj_member_json(m, "limits_hit", limits);
	if (r->limit_claimed)
		aj_member_json(m, "limits_claimed", json_pack("[s]", r->limit_claimed));
	if (r->told_to_stop)
		aj_member_json(m, "told_to_stop", json_string(r->told_to_stop));
	if (r->status == AJ_STATUS_OOM)
		aj_member_json(m, "oom",
		               json_pack("{s:I, s:I, s:I}", "limit_bytes", (json_int_t)plan->memory_bytes, "peak_bytes",
		                         (json_int_t)r->peak_memory_bytes, "kills", (json_int_t)r->leaf.oom_kills));
}

void aj_result_members(struct aj_members *m, const struct aj_result *r, const struct aj_plan *plan,
                       const struct aj_policy *policy, const struct aj_request *request, struct aj_common *common)
{
	bool ran = r->status != AJ_STATUS_SETUP_ERROR;
	m->brief = request->snippet.brief;
	add_string(m, "id", request->id);
	add_string(m, "status", aj_status_name(r->status));
	add_text(m, "reason", r->reason);
	add_claims(m, r);
	if (!ran)
		aj_member_json(m, "error", error_json("SetupError", &r->setup));
	if (plan->capture)
		aj_capture_members(m, &r->out, &r->err, r->claim);
	aj_members_add_files(m, r->files, r->files_skipped);
	add_number_or_null(m, "exit_code", r->exit_code >= 0 && ran, r->exit_code);
	add_number_or_null(m, "signal", r->signal, r->signal);
	add_number(m, "wall_ms", (r->wall_us + 999) / 1000);
	add_number(m, "cpu_ms", (r->cpu_us + 999) / 1000);
	add_number(m, "peak_memory_bytes", r->peak_memory_bytes);
	aj_member_json(m, "usage", usage_json(r));
	add_limits(m, r, plan);
	if (!request->snippet.brief && ran)
		add_enforced(m, common, r, plan);
	else if (!request->snippet.brief)
		aj_buffer_text(aj_member(m, "enforced"), "{}");
	add_refusals(m, r);
	if (r->workspace)
		aj_member_json(m, "workspace", json_incref(r->workspace));
	if (r->changes)
		aj_member_json(m, "changes", json_incref(r->changes));
	if (r->note[0])
		add_text(m, "note", r->note);
	if (r->hint[0])
		add_text(m, "hint", r->hint);
	if (!request->snippet.brief)
		add_policy(m, common, policy, request);
	if (r->recorded != AJ_NOT_ASKED)
		aj_member_json(m, "audit",
		               json_pack("{s:b, s:o*}", "recorded", r->recorded == AJ_RECORDED, "error",
		                         r->recorded == AJ_MISSED ? aj_json_text(r->audit_why, strlen(r->audit_why)) : NULL));
	if (plan->snippet)
		add_string(m, "code_sha256", r->code_sha256);
	if (!request->snippet.for_model)
		return;
	json_t *doc = aj_members_tree(m);
	aj_member_json(m, "for_model", aj_for_model_json(doc));
	json_decref(doc);
}

json_t *aj_result_json(const struct aj_result *r, const struct aj_plan *plan, const struct aj_policy *policy,
                       const struct aj_request *request)
{
	struct aj_members m = { 0 };
	aj_result_members(&m, r, plan, policy, request, NULL);
	json_t *doc = aj_members_tree(&m);
	aj_buffer_free(&m.text);
	return doc;
}

void aj_result_free(struct aj_result *r)
{
	aj_output_buffer_free(&r->out);
	aj_output_buffer_free(&r->err);
	aj_network_free(&r->network);
	json_decref(r->claim);
	json_decref(r->workspace);
	json_decref(r->changes);
	json_decref(r->files);
	json_decref(r->files_skipped);
	r->claim = r->workspace = r->changes = r->files = r->files_skipped = NULL;
}
