/* Names the cause where a run fails because its workspace belongs to another user: the command itself can only say "Permission denied".
 * It decides nothing and changes no folder; the kernel has decided. */
#include "workspace/owner.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

bool aj_workspace_closed(const struct aj_plan *plan, char *out, size_t out_bytes)
{
	const char *folder = plan->writable_workspace;
	struct stat st;
	if (!folder || stat(folder, &st) < 0)
		return false;
	mode_t bit = st.st_uid == plan->host_uid ? S_IWUSR : st.st_gid == plan->host_gid ? S_IWGRP : S_IWOTH;
	if (st.st_mode & bit)
		return false;
	int n = snprintf(out, out_bytes, "the workspace belongs to user id %u (mode %03o), and the jail writes as user id %u: ", st.st_uid,
	                 st.st_mode & 0777, plan->host_uid);
	if (n < 0 || (size_t)n >= out_bytes)
		return true;
	if (st.st_uid == plan->host_uid)
		snprintf(out + n, out_bytes - (size_t)n, "`chmod u+w` it");
	else if (geteuid() == 0)
		snprintf(out + n, out_bytes - (size_t)n,
		         "no jail gets root's id. `chown -R %u:%u` the folder, or run agentjail as a user who owns it",
		         plan->host_uid, plan->host_gid);
	else
		snprintf(out + n, out_bytes - (size_t)n, "run agentjail as the folder's owner, or make it writable for that id");
	return true;
}
