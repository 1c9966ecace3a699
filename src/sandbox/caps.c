/* Drops every capability of the calling process for good; the only user of libcap.
 * It restores and keeps none: agentjail has no jail with a capability. */
#include "sandbox/caps.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

/* SECBIT_NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each with its lock: user id 0 grants nothing either. */
enum { SECUREBITS = 0x03 | 0x0c | 0xc0 };
/* The kernel keeps a set in 64 bits. */
enum { CAPS_MAX = 64 };

int aj_caps_drop_all(struct aj_error *err)
{
	if (prctl(PR_SET_SECUREBITS, SECUREBITS) < 0)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "drop_caps", errno, "lock securebits");
	/* Not up to cap_max_bits(): libcap takes the first query that fails for the end of the list. */
	for (cap_value_t cap = 0; cap < CAPS_MAX; cap++)
		if (cap_drop_bound(cap) < 0 && !(errno == EINVAL && cap > CAP_LAST_CAP && cap_get_bound(cap) < 0))
			return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "drop_caps", errno,
			                       "drop capability %d from the bounding set", cap);
	if (cap_reset_ambient() < 0)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "drop_caps", errno, "clear the ambient set");
	cap_t none = cap_init();
	int r = none ? cap_set_proc(none) : -1;
	int saved = errno;
	cap_free(none);
	errno = saved;
	return r < 0 ? aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "drop_caps", errno, "empty the capability sets") : 0;
}
