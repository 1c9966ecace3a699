/* Records a run as site and policy require: the destination, and the reaction to a record that cannot be written.
 * It composes no record and writes none itself: jail/audit/record.h and jail/audit/audit.h do. */
#include "jail/audit/trail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "jail/audit/record.h"
#include "jail/audit/split_long_records.h"

const char *aj_trail_new_id(struct aj_arena *arena)
{
	unsigned long long bits = 0;
	return getrandom(&bits, sizeof bits, 0) == sizeof bits ? aj_printf(arena, "%016llx", bits) : "0";
}

/* Refuse a plan whose jail would see the trail: it could read other runs' records, or write records itself. */
static int check_visible(const struct aj_audit *audit, const struct aj_plan *plan, struct aj_error *err)
{
	for (size_t i = 0; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		char *real = m->kind == AJ_MOUNT_BIND ? realpath(m->source, NULL) : NULL;
		/* A missing source is not bound; one that cannot be resolved for another reason counts as visible. */
		bool unknown = m->kind == AJ_MOUNT_BIND && !real && errno != ENOENT;
		bool visible = unknown || (real && aj_audit_visible(audit, real));
		free(real);
		if (!visible)
			continue;
		aj_fail(err, AJ_EXIT_SETUP, "audit", 0, "the jail would see the audit trail `%s` through the bind of `%s`",
		        audit->path, m->source);
		aj_advise(err, "keep the audit trail outside the folders that are bound into jails");
		return -1;
	}
	return 0;
}

static int append_record(const struct aj_audit *audit, bool notable, json_t *record, struct aj_error *err)
{
	json_t *lines = record ? aj_record_lines(record) : NULL;
	int r = lines ? 0 : aj_fail(err, AJ_EXIT_SETUP, "audit", 0, "out of memory");
	for (size_t i = 0; r == 0 && i < json_array_size(lines); i++)
		r = aj_audit_write(audit, notable, json_array_get(lines, i), err);
	json_decref(lines);
	json_decref(record);
	return r;
}

int aj_trail_start(struct aj_trail *trail, const struct aj_site *site, const struct aj_policy *policy,
                   const struct aj_request *request, const struct aj_plan *plan, struct aj_error *err)
{
	trail->request = request;
	trail->audit = (struct aj_audit){ 0 };
	trail->missed[0] = '\0';
	if (strcmp(site->audit, "none") == 0) {
		if (!policy->audit)
			return 0;
		aj_fail(err, AJ_EXIT_SETUP, "audit", 0,
		        "the policy `%s` requires a record of every run, but %s names no audit destination", policy->name,
		        site->file);
		aj_advise(err, "set audit.destination in that file, for example \"file:/var/log/agentjail/audit.jsonl\"");
		return -1;
	}
	struct aj_error why = { 0 };
	int r = aj_audit_parse(&trail->audit, site->audit, &why);
	/* Before the trail is opened, whatever the policy's audit.on_failure: a jail that sees the trail could write records. */
	if (r == 0 && check_visible(&trail->audit, plan, err) < 0)
		return -1;
	json_t *named = aj_policy_json(policy, request);
	if (r == 0)
		r = aj_audit_ready(&trail->audit, &why);
	if (r == 0)
		r = append_record(&trail->audit, false, aj_record_start(request, named), &why);
	json_decref(named);
	if (r == 0)
		return 0;
	if (policy->audit_failure == AJ_AUDIT_FLAG) {
		aj_error_text(&why, trail->missed, sizeof trail->missed);
		return 0;
	}
	aj_advise(&why, "the policy refuses to run unrecorded (audit.on_failure = \"refuse\")");
	*err = why;
	return -1;
}

static int write_network(const struct aj_trail *trail, const struct aj_network_use *network, struct aj_error *err)
{
	size_t at = 0;
	int r = 0;
	for (json_t *record; r == 0 && (record = aj_record_network(trail->request, network, &at));)
		r = append_record(&trail->audit, false, record, err);
	return r;
}

void aj_trail_connections(const struct aj_network_use *network, void *arg)
{
	struct aj_trail *trail = arg;
	struct aj_error why = { 0 };
	if (trail->audit.kind != AJ_AUDIT_NONE && !trail->late[0] && write_network(trail, network, &why) < 0)
		aj_error_text(&why, trail->late, sizeof trail->late);
}

int aj_trail_record_network(struct aj_trail *trail, const struct aj_network_use *network, struct aj_error *err)
{
	if (trail->audit.kind == AJ_AUDIT_NONE || !aj_network_used(network))
		return 0;
	int r = write_network(trail, network, err);
	if (r == 0 && trail->late[0])
		r = aj_fail(err, AJ_EXIT_SETUP, "audit", 0, "%s", trail->late);
	if (r == 0)
		r = append_record(&trail->audit, false, aj_record_last_network(trail->request, network), err);
	return r;
}

int aj_trail_end(struct aj_trail *trail, const struct aj_policy *policy, const struct aj_request *request,
                 const struct aj_plan *plan, struct aj_result *result, struct aj_error *err)
{
	if (trail->audit.kind == AJ_AUDIT_NONE && !trail->missed[0])
		return 0;
	struct aj_error why = { 0 };
	json_t *named = aj_policy_json(policy, request);
	int r = trail->audit.kind == AJ_AUDIT_NONE ? -1 : 0;
	if (r == 0)
		r = write_network(trail, &result->network, &why);
	if (r == 0 && trail->late[0])
		r = aj_fail(&why, AJ_EXIT_SETUP, "audit", 0, "%s", trail->late);
	trail->late[0] = '\0';
	bool notable = result->status != AJ_STATUS_OK;
	if (r == 0)
		r = append_record(&trail->audit, notable, aj_record_end(request, named, plan, result), &why);
	json_decref(named);
	result->recorded = r == 0 && !trail->missed[0] ? AJ_RECORDED : AJ_MISSED;
	if (result->recorded == AJ_RECORDED)
		return 0;
	if (trail->missed[0])
		snprintf(result->audit_why, sizeof result->audit_why, "%s", trail->missed);
	else
		aj_error_text(&why, result->audit_why, sizeof result->audit_why);
	if (policy->audit_failure == AJ_AUDIT_FLAG)
		return 0;
	*err = why;
	return -1;
}
