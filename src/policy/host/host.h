/* Facts about this kernel and this user, gathered once.
 * A missing feature is a fact, not an error; no function here changes anything. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/host/etc.h"

enum { AJ_CGROUP_MEMORY = 1, AJ_CGROUP_PIDS = 2, AJ_CGROUP_CPU = 4 };

struct aj_host {
	uid_t uid;
	gid_t gid;
	bool may_map_ids; /* CAP_SETUID and CAP_SETGID, and id 65534 exists here: jails run as another host id */
	uid_t own_id;     /* allocated for this jail from the site's range (jail/host_ids.h); 0: none */
	bool init_root;   /* the supervisor is id 0 of the initial user namespace, which RLIMIT_NPROC does not limit */
	int kernel_major, kernel_minor;
	int landlock_abi;            /* 0 without Landlock */
	unsigned processors;         /* in the supervisor's affinity mask; 0: unknown */
	const char *cgroup;          /* cgroup v2 directory below which the supervisor may create leaves; NULL: none */
	bool cgroup_given;           /* the caller named it */
	unsigned cgroup_controllers; /* AJ_CGROUP_* controllers available to a leaf there */
	const char *cgroup_why;      /* one line: why there is no cgroup or no controller */
	/* /bin, /sbin, /lib... of this host: a symlink's text, "" for a directory, NULL when absent. */
	const char *top_links[6];
	aj_etc_list etc;
};

extern const char *const aj_top_links[6]; /* their names, "bin" first */

/* The version of Landlock that this kernel has; 0: none. */
int aj_host_landlock_abi(void);
/* `given_cgroup`: a directory that the caller provides, or NULL. A missing feature is not a failure. */
int aj_host_gather(struct aj_host *host, struct aj_arena *arena, const char *given_cgroup, struct aj_error *err);

/* Do both id maps of the supervisor's user namespace contain this id? */
bool aj_host_has_id(uid_t id);

/* Find where leaves can be created: the supervisor's own cgroup, or its nearest ancestor; fills the three cgroup fields. `root`,
 * `path`: mount point of the hierarchy and the supervisor's cgroup in it; NULL: as the kernel reports them. */
void aj_host_find_cgroup(struct aj_host *host, struct aj_arena *arena, const char *root, const char *path);
/* If `err` says that the cgroup cannot be used, for example because other processes have moved into it, forget the cgroup, as if
 * the host had none. False: something else failed, the caller named the cgroup, or the error is a transient one, such as a lack
 * of descriptors or memory, which must disable no limit: nothing may run then. */
bool aj_host_drop_cgroup(struct aj_host *host, struct aj_arena *arena, const struct aj_error *err);
/* AJ_CGROUP_* controllers available to the children of a cgroup directory; -1 with errno, and none, when they cannot be read. */
int aj_host_controllers(const char *dir, unsigned *ret);

/* Does this process seem to be in a jail of agentjail's? A hint for people: the variable, which commands get, proves nothing. */
#define AJ_JAIL_VARIABLE "AGENTJAIL"
#define AJ_JAIL_SETTING "AGENTJAIL=1"
bool aj_host_in_jail(void);
/* Sets err's advice, by its reason and errno, from sysctls, AppArmor and container hints. */
void aj_host_advise(struct aj_error *err);
