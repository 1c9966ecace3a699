/* Host ids that jails of root run as: one for each, out of the range that the site gives. */
#pragma once
#include "plan/host.h"
#include "policy/site.h"

struct aj_id {
	uid_t id; /* 0: none was taken */
	int fd;   /* holds it; closed by a kill, too */
};
#define AJ_NO_ID ((struct aj_id){ .fd = -1 })

/* Take an id of the site's range that no jail of this machine has, for jails of `host`'s user; host->own_id is it from then on. Without a
 * range, and for whoever is not root, none is taken and host->own_id is 0. 0, or -1 with err: the site wants one and there is none. */
int aj_id_take(struct aj_id *id, struct aj_host *host, const struct aj_site *site, struct aj_error *err);
/* Give it back, when the last process that had it is gone. */
void aj_id_give(struct aj_id *id);
/* For plans that are only looked at: an id of the range, which is not taken. */
void aj_id_show(struct aj_host *host, const struct aj_site *site);
