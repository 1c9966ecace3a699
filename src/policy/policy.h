/* What is allowed: the first of the five nouns.
 * Plain data without Linux calls; every quantity carries its unit in its name, 0 means "no limit of ours". */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum aj_builtins { AJ_BUILTINS_MINIMAL, AJ_BUILTINS_STANDARD, AJ_BUILTINS_FULL };
enum aj_network { AJ_NET_NONE, AJ_NET_LOOPBACK, AJ_NET_HOST };
/* Which system calls a guest may make; the lists are in plan/syscalls.c. */
enum aj_profile { AJ_PROFILE_SNIPPET, AJ_PROFILE_COMMAND, AJ_PROFILE_COUNT };

struct aj_policy {
	const char *name;

	/* The Python layer: a rail inside the jail, not a wall. */
	bool layer;
	enum aj_builtins builtins;
	AJ_LIST(const char *) imports; /* module names, `pkg.*` for a package with its submodules */

	/* Walls. */
	enum aj_profile profile;
	enum aj_network network;
	bool host_usr; /* the host's /usr read-only instead of the Python rootfs */
	bool proc;     /* a fresh, read-only /proc */

	/* Limits. */
	bool best_effort; /* without cgroup v2, take rlimits and say so; else refuse */
	uint64_t wall_ms;
	uint64_t cpu_ms;
	uint64_t memory_bytes;
	uint64_t pids;
	uint64_t open_files;
	uint64_t file_bytes; /* largest single file */
	uint64_t tmp_bytes;  /* /tmp, and /dev/shm again */
	uint64_t tmp_inodes;
	uint64_t source_bytes;  /* largest snippet */
	uint64_t capture_bytes; /* kept of stdout, and of stderr: head and tail */
	uint64_t output_bytes;  /* written in all before the run is ended */
	uint64_t result_bytes;  /* largest result message */
};

/* Fill `policy` with a preset: NULL-terminated names in aj_policy_presets. False when there is no such preset. */
bool aj_policy_preset(struct aj_policy *policy, struct aj_arena *arena, const char *name);

const char *aj_network_name(enum aj_network network);
const char *aj_builtins_name(enum aj_builtins builtins);
bool aj_network_parse(const char *text, enum aj_network *ret);
bool aj_builtins_parse(const char *text, enum aj_builtins *ret);
/* `numpy`, `numpy.*`, `a.b.c`: identifiers with dots, a star only as the last part. */
bool aj_import_pattern_valid(const char *text);
