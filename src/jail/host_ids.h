/* Host ids for jails of root: one each, from the range that the site configures. */
#pragma once
#include "policy/host/host.h"
#include "policy/load/site.h"

struct aj_id {
	uid_t id; /* 0: none */
	int fd;   /* holds the lock */
};
#define AJ_NO_ID ((struct aj_id){ .fd = -1 })

/* Take an id of the site's range that no jail of this machine has, and set host->own_id; 0 without a range, or when the user is
 * not root. -1 with err: the site requires one and none is free. */
int aj_id_take(struct aj_id *id, struct aj_host *host, const struct aj_site *site, struct aj_error *err);
/* Release the id; not before its last process is gone. */
void aj_id_give(struct aj_id *id);
/* For a dry run: an id of the range, not taken. */
void aj_id_show(struct aj_host *host, const struct aj_site *site);
