/* Adds what an enforcer's name does not say: no wall at all, a key without effect.
 * It enforces nothing, and returns NULL when it has nothing to add. */
#include <string.h>

#include "policy/keys.h"

/* Enforced by network.mode's wall, or not in use. */
static bool is_of_allow(const struct aj_key *key)
{
	return key->offset == offsetof(struct aj_policy, allow) || key->offset == offsetof(struct aj_policy, connections) ||
	       key->offset == offsetof(struct aj_policy, connections_per_s) ||
	       key->offset == offsetof(struct aj_policy, bytes_out) || key->offset == offsetof(struct aj_policy, bytes_in);
}

const char *aj_key_status(const struct aj_key *key, const struct aj_policy *policy)
{
	const char *field = (const char *)policy + key->offset;
	bool commands = strcmp(policy->rootfs, "host") == 0;
	const char *value = key->type == AJ_KEY_ENUM ? key->names[*(const int *)field] : "";
	if (is_of_allow(key) && policy->network != AJ_NET_ALLOW)
		return "not in use: network.mode is not \"allow\"";
	if (key->offset == offsetof(struct aj_policy, protect)) {
		if (policy->workspace < AJ_WORKSPACE_OVERLAY)
			return "not in use: the policy has no writable workspace";
		if (!policy->protect.count)
			return "no place of the workspace is protected";
		return policy->workspace == AJ_WORKSPACE_READ_WRITE
		         ? NULL
		         : "no wall: the jail's changes to these places are kept apart with all others";
	}
	bool growth = key->offset == offsetof(struct aj_policy, workspace_bytes) ||
	              key->offset == offsetof(struct aj_policy, workspace_files);
	if (growth && policy->workspace < AJ_WORKSPACE_OVERLAY)
		return "not in use: the policy has no writable workspace";
	if (key->offset == offsetof(struct aj_policy, quarantine) && !policy->quarantine)
		return "no file is moved, and the result names what the jail made";
	if (key->offset == offsetof(struct aj_policy, worktree) && policy->worktree == AJ_WORKTREE_NONE)
		return "not in use: only the workspace itself is shown";
	if (key->offset == offsetof(struct aj_policy, native) && policy->exec)
		return "no wall: with process.exec programs make executable memory of their own";
	if (key->unwalled && strcmp(key->unwalled, value) == 0)
		return "no wall enforces this value";
	if (key->by == AJ_BY_RAIL && commands)
		return "not in use: commands have no Python layer";
	if (key->by == AJ_BY_RAIL && !policy->layer)
		return "not in use: the Python layer is off";
	if (key->by == AJ_BY_RAIL)
		return "code that gets past the rail still meets the kernel's walls";
	return key->none && *(const uint64_t *)field == 0 ? "no limit" : NULL;
}

const char *aj_key_kind(const struct aj_key *key, const struct aj_policy *policy)
{
	bool falls = key->by != AJ_BY_RAIL && aj_key_status(key, policy);
	return aj_enforcer_kind(falls ? AJ_BY_NOBODY : key->by);
}
