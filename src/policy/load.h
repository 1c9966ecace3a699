/* From files, options and the site's rules to one policy that knows where each of its values came from. */
#pragma once
#include "policy/policy.h"
#include "policy/site.h"
#include "policy/source.h"

/* One wish of the command line. */
struct aj_setting {
	const char *option; /* as typed: "--memory" */
	const char *key;    /* in aj_policy_keys */
	const char *value;
	bool request_only; /* already part of the request: only asked whether the policy lets it */
};

struct aj_ask {
	const char *name; /* a policy's name, or NULL */
	const char *file; /* or a path, or NULL */
	AJ_LIST(struct aj_setting) settings;
	const char *local;     /* path of the working directory's policy, NULL: it is not looked for */
	bool local_asked;      /* the caller wants it, whatever the site says: that it cannot be used is an error */
	const char *workspace; /* the folder that the jail gets; what lies in it may have been written by a jail. NULL for none */
	/* The folder that AJ_TREE_VARIABLE names, NULL for none: weighed as --rootfs is, where nothing else says which tree is used. */
	const char *tree_variable;
};
#define AJ_TREE_VARIABLE "AGENTJAIL_ROOTFS"
#define AJ_LOCAL_FILE "agentjail-policy.toml"

/* What became of the working directory's policy. */
enum aj_local {
	AJ_LOCAL_NONE,
	AJ_LOCAL_USED,
	AJ_LOCAL_LEFT,   /* it is there, and neither the caller nor the site asks for it */
	AJ_LOCAL_WITHIN, /* the site asks for it, and the jail may write it */
};

struct aj_loaded {
	struct aj_policy policy;
	enum aj_local local;
	const char *local_path;   /* the whole path of that policy, where there is one */
	const char *local_within; /* the folder that the jail may write, for AJ_LOCAL_WITHIN */
	/* By index in aj_policy_keys. */
	struct aj_origin at[AJ_KEYS_MAX];
	AJ_LIST(struct aj_origin) items_at[AJ_KEYS_MAX]; /* one for each item of a list */
	unsigned layer[AJ_KEYS_MAX]; /* which layer set it last: 0 none, 1 the first that was loaded, and so on */
	bool locked[AJ_KEYS_MAX];
	struct aj_origin locked_at[AJ_KEYS_MAX];
};

/* 0, or -1 with findings. `diags->arena` owns everything in `loaded`. */
int aj_policy_load(struct aj_loaded *loaded, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags);

/* Only the file that `ask` names, read and parsed: what `policy show --source` prints. 0, or -1 with findings. */
int aj_policy_source(struct aj_source *source, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags);

/* Rules spanning several keys; called by aj_policy_load(). */
void aj_policy_contradictions(const struct aj_loaded *loaded, struct aj_diags *diags);
/* Lint: what is allowed and still unwise. Adds warnings. */
void aj_policy_lint(const struct aj_loaded *loaded, struct aj_diags *diags);

/* Mark the keys that `what` (a key, a section, or `*`) stands for; false when it stands for none. */
bool aj_policy_lock(const char *what, bool lock[AJ_KEYS_MAX]);
