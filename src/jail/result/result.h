/* The result of a run. Claims come from inside the jail; all other fields are attested by the supervisor. */
#pragma once
#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "jail/pty/escape_filter.h"
#include "jail/result/network_use.h"
#include "jail/result/output_buffer.h"
#include "jail/result/result_members.h"
#include "policy/plan/plan.h"
#include "sandbox/cgroup/leaf.h"
#include "sandbox/mediate/violations.h"

enum aj_status {
	AJ_STATUS_OK,
	AJ_STATUS_ERROR,    /* the code raised, the command failed, or no result came */
	AJ_STATUS_REJECTED, /* the import check refused the snippet before it ran */
	AJ_STATUS_TIMEOUT,
	AJ_STATUS_OOM,
	AJ_STATUS_LIMIT, /* output, pids, files, disk */
	AJ_STATUS_SIGNAL,
	AJ_STATUS_PROTOCOL_ERROR, /* the jail sent something that is not a result */
	AJ_STATUS_SETUP_ERROR,    /* a wall could not be built: nothing ran */
};

enum { AJ_LIMITS_HIT = 8 };

/* Is the run in the audit trail? */
enum aj_recorded { AJ_NOT_ASKED, AJ_RECORDED, AJ_MISSED };

struct aj_result {
	/* attested */
	enum aj_status status;
	char reason[512];
	int exit_code; /* -1: the guest did not exit */
	int signal;    /* 0: no signal ended the guest */
	uint64_t wall_us, cpu_us, peak_memory_bytes;
	struct aj_leaf_usage leaf;             /* the kernel's counts; all 0 without a cgroup */
	const char *limits_hit[AJ_LIMITS_HIT]; /* names; the one that ended the run comes first */
	size_t limits_hit_count;
	const char *told_to_stop;  /* who interrupted the snippet: wall_clock, caller; NULL: it was not interrupted */
	const char *limit_claimed; /* the limit that the snippet's exception names, and no fact confirms; NULL: none */
	char note[480];            /* an optional wall that could not be built */
	char hint[480];            /* why the run may have failed, and what to do, where the supervisor knows */
	char bound[480];           /* read-only folders that are binds in place of overlays, and why */
	const struct aj_socket_limits *sockets; /* the plan's `in_reach`, if a folder is bound in place of an overlay; or NULL */
	const char *layer; /* replaces the plan's entry for the Python layer, where a request chose that; or NULL */
	enum aj_recorded recorded;
	char audit_why[480]; /* MISSED: why a record could not be written */
	struct aj_violations violations;
	struct aj_network_use network;
	/* Control sequences that did not reach the caller's terminal. Not in JSON: captured outputs reach no terminal. */
	uint64_t escapes[AJ_ESCAPE_KINDS];
	bool interrupt_sent;           /* to a command, since the supervisor got a signal; not in JSON */
	json_t *changes;               /* of a workspace that are kept apart; NULL where none are kept */
	json_t *workspace;             /* changes to places of a writable workspace that the host obeys; NULL without one */
	json_t *files, *files_skipped; /* of /output; NULL: not requested, or for the skipped: none */
	struct aj_output_buffer out, err;
	char code_sha256[AJ_SHA256_HEX];
	struct aj_error setup; /* SETUP_ERROR: the step that failed */
	/* claimed: checked for shape, never for truth; NULL without one */
	json_t *claim;
};

const char *aj_status_name(enum aj_status status);
int aj_status_exit_code(const struct aj_result *result, const struct aj_plan *plan);

/* Add throttled_ms, io_read_bytes, io_written_bytes, as far as the kernel reports them. */
void aj_usage_json(json_t *usage, const struct aj_leaf_usage *leaf);
/* The policy's files, each with its sha256 (new reference). */
json_t *aj_files_json(const struct aj_policy *policy);
/* The policy's name, its file's sha256, all its files, and the options that changed it, with the request's seed (new
 * reference). */
json_t *aj_policy_json(const struct aj_policy *policy, const struct aj_request *request);
/* Note init's report that the folder `target` of the jail is bound in place of the planned overlay. False: ignored, as the plan
 * has no overlay there. */
bool aj_result_note_no_overlay(struct aj_result *result, const struct aj_plan *plan, const char *target, int errnum);
/* The enforcer of a wall of the plan, as built. The text is the plan's own, or in `room`. */
enum { AJ_WALL_TEXT = 1024 };
const char *aj_result_wall(const struct aj_result *result, const struct aj_plan *plan, const struct aj_enforced *wall,
                           char room[AJ_WALL_TEXT]);
/* Each wall of the plan with its enforcer, as built (new reference). */
json_t *aj_enforced_json(const struct aj_result *result, const struct aj_plan *plan);
/* The result of a run that was refused before a jail was planned: it has no other members. `type`: of the error. */
json_t *aj_result_refused_json(const char *id, enum aj_status status, const char *type, const struct aj_error *err);
/* The refused system calls, a list (new reference). */
json_t *aj_violations_json(const struct aj_violations *violations);
/* The texts of members that most results of one plan and policy have in common, kept between results. Ready for use when zeroed;
 * plan and policy outlive it. */
struct aj_common {
	struct aj_buffer enforced, policy;
	const char *layer; /* `enforced` is of results with these */
	const struct aj_socket_limits *sockets;
	bool seen;
};
void aj_common_free(struct aj_common *common);
/* Write the result's members. `common`: NULL for none. */
void aj_result_members(struct aj_members *members, const struct aj_result *result, const struct aj_plan *plan,
                       const struct aj_policy *policy, const struct aj_request *request, struct aj_common *common);
/* The same as a tree (new reference). */
json_t *aj_result_json(const struct aj_result *result, const struct aj_plan *plan, const struct aj_policy *policy,
                       const struct aj_request *request);
void aj_result_free(struct aj_result *result);
