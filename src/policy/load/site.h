/* The site's configuration, agentjail.toml: the sources of policies, and the limits that no policy may exceed. */
#pragma once
#include "base/sha256.h"
#include "base/toml/diag.h"
#include "policy/keys.h"

struct aj_site {
	const char *default_exec, *default_run;
	AJ_LIST(const char *) path;
	bool local, files;
	AJ_LIST(const char *) lock;
	const char *rootfs;               /* "": beside the program */
	const char *upstream_proxy;       /* http://HOST:PORT, "" for none */
	const char *upstream_credentials; /* file:/PATH, command:TEXT, "" for none */
	const char *uids;                 /* FIRST-LAST, "" for none */
	const char *audit;                /* none, file:/path, syslog, journal */

	const char *file; /* the file that was read, or "built-in agentjail.toml" */
	char sha256[AJ_SHA256_HEX];
	struct aj_policy ceilings;                /* valid where ceiling_at[key].file is set */
	struct aj_origin ceiling_at[AJ_KEYS_MAX]; /* by index in aj_policy_keys */
	bool locked[AJ_KEYS_MAX];
	struct aj_origin locked_at;
};

extern const struct aj_key aj_site_keys[]; /* ends with a NULL name */

/* The path of a site's configuration: if this file exists, no option replaces it. */
#define AJ_SITE_FILE "/etc/agentjail/agentjail.toml"

/* Read AJ_SITE_FILE if it exists, else `path` (may be NULL), else the built-in agentjail.toml. 0, or -1 with findings. */
int aj_site_load(struct aj_site *site, const char *path, struct aj_diags *diags);
/* Mark the keys for which `what` (a key, a section, or `*`) stands; false when it stands for none. */
bool aj_policy_lock(const char *what, bool lock[AJ_KEYS_MAX]);
