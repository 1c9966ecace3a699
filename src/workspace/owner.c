/* Explains a run that fails because its workspace belongs to another user: the command itself can only say "Permission denied".
 * It decides nothing and changes no folder; the kernel has decided. */
#include "workspace/owner.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/mounts/owners.h"

/* Binds are not idmapped to their owner's id, as root's workspaces are (sandbox/mounts/owners.h). */
static bool is_closed(const struct aj_plan *plan, const struct aj_mount *m, struct stat *st)
{
	bool mapped = plan->host_uid != geteuid() && !aj_plan_unheld(plan, m);
	return aj_mount_is_shared(m) && !(m->flags & (AJ_LAYERED | AJ_COPIED)) && stat(m->source, st) == 0 &&
	       S_ISDIR(st->st_mode) && aj_mount_not_writable(plan, st) && !(mapped && st->st_mode & S_IWUSR);
}

bool aj_workspace_closed(const struct aj_plan *plan, char *out, size_t out_bytes)
{
	const struct aj_mount *closed = NULL;
	struct stat st;
	for (size_t i = 0; i < plan->mounts.count && !closed; i++)
		closed = is_closed(plan, &plan->mounts.items[i], &st) ? &plan->mounts.items[i] : NULL;
	if (!closed)
		return false;
	bool bind = aj_plan_unheld(plan, closed);
	int n = snprintf(out, out_bytes,
	                 "%s%s%s belongs to user id %u (mode %03o), and the jail writes as user id %u: ", bind ? "`" : "the workspace",
	                 bind ? closed->source : "", bind ? "`" : "", st.st_uid, st.st_mode & 0777, plan->host_uid);
	if (n < 0 || (size_t)n >= out_bytes)
		return true;
	if (st.st_uid == plan->host_uid || !(st.st_mode & S_IWUSR))
		snprintf(out + n, out_bytes - (size_t)n, "`chmod u+w` it");
	else if (geteuid() == 0)
		snprintf(out + n, out_bytes - (size_t)n,
		         "no jail gets root's id. `chown -R %u:%u` the folder, or run agentjail as a user who owns it",
		         plan->host_uid, plan->host_gid);
	else
		snprintf(out + n, out_bytes - (size_t)n, "run agentjail as the folder's owner, or make it writable for that id");
	return true;
}
