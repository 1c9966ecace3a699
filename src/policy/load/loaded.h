/* The request for a policy, and the policy that was loaded for it, with the origin of each value. */
#pragma once
#include "policy/load/site.h"
#include "policy/policy.h"

/* One option of the command line. */
struct aj_setting {
	const char *option; /* as typed: "--memory" */
	const char *key;    /* in aj_policy_keys */
	const char *value;
	bool request_only; /* already part of the request: only check that the policy allows it */
	bool at_least;     /* without effect where the policy's value is looser */
};

struct aj_ask {
	const char *name; /* a policy's name, or NULL */
	const char *file; /* or a path, or NULL */
	const char *own;  /* the caller's own folder of policies, whose names a file of the caller's may extend; NULL: none */
	const char *home; /* the caller's home, `~` in host paths of policy files; NULL: not known */
	AJ_LIST(struct aj_setting) settings;
	const char *local;     /* path of the working directory's policy; NULL: do not search for it */
	bool local_asked;      /* the caller requires it, whatever the site says: if it cannot be used, that is an error */
	const char *workspace; /* the jail's workspace; a jail may have written files in it. NULL for none */
	/* The folder that AJ_TREE_VARIABLE names, or NULL: checked like --rootfs, if nothing else names a tree. */
	const char *tree_variable;
};
#define AJ_LOCAL_FILE "agentjail-policy.toml"

/* The use of the working directory's policy. */
enum aj_local {
	AJ_LOCAL_NONE,
	AJ_LOCAL_USED,
	AJ_LOCAL_LEFT,   /* present, but neither the caller nor the site asks for it */
	AJ_LOCAL_WITHIN, /* the site asks for it, but the jail may write it */
};

struct aj_loaded {
	struct aj_policy policy;
	enum aj_local local;
	const char *local_path;   /* the absolute path of that policy, if present */
	const char *local_within; /* the writable folder, for AJ_LOCAL_WITHIN */
	/* By index in aj_policy_keys. */
	struct aj_origin at[AJ_KEYS_MAX];
	AJ_LIST(struct aj_origin) items_at[AJ_KEYS_MAX]; /* one per item of a list */
	unsigned layer[AJ_KEYS_MAX];                     /* the layer that set it last: 0 none, 1 the first layer, and so on */
	bool locked[AJ_KEYS_MAX];
	struct aj_origin locked_at[AJ_KEYS_MAX];
};
