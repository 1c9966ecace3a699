/* What this kernel and this user can do: facts, gathered once.
 * The one part of plan/ that looks at the machine; it changes nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

enum { AJ_CGROUP_MEMORY = 1, AJ_CGROUP_PIDS = 2, AJ_CGROUP_CPU = 4 };

struct aj_host {
	uid_t uid;
	gid_t gid;
	bool may_map_ids; /* CAP_SETUID and CAP_SETGID, and id 65534 exists here: jails run as another host id than ours */
	uid_t own_id;     /* taken for this jail out of the site's range (jail/host_ids.h); 0: none */
	bool init_root;   /* we are id 0 of the initial user namespace, which RLIMIT_NPROC does not bind */
	int kernel_major, kernel_minor;
	int landlock_abi;            /* 0 without Landlock */
	const char *cgroup;          /* cgroup v2 directory below which we may create leaves; NULL when there is none */
	unsigned cgroup_controllers; /* AJ_CGROUP_* that a leaf there can have */
	const char *cgroup_why;      /* one line: why there is no cgroup or no controller */
	/* What /bin, /sbin, /lib... are on this host: a symlink's text, "" for a directory, NULL when absent. */
	const char *top_links[6];
};

extern const char *const aj_top_links[6]; /* their names, "bin" first */

/* `given_cgroup`: a directory that the caller wants used, or NULL. Never fails for lack of a feature. */
int aj_host_gather(struct aj_host *host, struct aj_arena *arena, const char *given_cgroup, struct aj_error *err);

/* Do both maps of our user namespace hold this id? */
bool aj_host_has_id(uid_t id);

/* Find where leaves can be made: our own cgroup, or the nearest one above it; fills the three cgroup fields. `root`, `path`: where the
 * hierarchy is mounted and where in it we are; NULL: as the kernel says. */
void aj_host_find_cgroup(struct aj_host *host, struct aj_arena *arena, const char *root, const char *path);
/* AJ_CGROUP_* of what the children of a cgroup directory can have; -1 with errno when that cannot be read (none, then). */
int aj_host_controllers(const char *dir, unsigned *ret);

/* Why did `step` fail with errno, and what helps? Sets err's advice from sysctls, AppArmor and container hints. */
void aj_host_advise(struct aj_error *err);
