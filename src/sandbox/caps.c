/* Drops every capability of the calling process permanently; the only user of libcap.
 * It restores and keeps none: no jail has a capability. */
#include "sandbox/caps.h"

#include <errno.h>
#include <sys/capability.h>

#include "base/prctl.h"

int aj_caps_drop_all(struct aj_error *err)
{
	if (aj_prctl_securebits(AJ_SECUREBITS) < 0)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "drop_caps", errno, "lock securebits");
	/* Not up to cap_max_bits(): libcap takes the first query that fails for the end of the list. */
	for (cap_value_t cap = 0; cap < AJ_CAPS_MAX; cap++) {
		if (cap_drop_bound(cap) == 0)
			continue;
		if (errno == EINVAL && cap > CAP_LAST_CAP && cap_get_bound(cap) < 0)
			break; /* the kernel's numbers have no gaps */
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "drop_caps", errno,
		                       "drop capability %d from the bounding set", cap);
	}
	return aj_caps_empty(err);
}

int aj_caps_empty(struct aj_error *err)
{
	/* libcap's own call asks for each capability first. */
	if (aj_prctl_clear_ambient() < 0)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "drop_caps", errno, "clear the ambient set");
	cap_t none = cap_init();
	int r = none ? cap_set_proc(none) : -1;
	int saved = errno;
	cap_free(none);
	errno = saved;
	if (r < 0)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "drop_caps", errno, "empty the capability sets");
	return 0;
}
