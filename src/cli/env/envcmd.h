/* The subcommands of `agentjail env`, and the steps of making an environment: download, bytecode, inventory, seal. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct aj_env_args {
	const char *name;
	AJ_LIST(const char *) names;    /* of list, show, remove …: all operands */
	AJ_LIST(const char *) packages; /* as --packages gives them */
	AJ_LIST(const char *) files;    /* -r, absolute */
	const char *lock;               /* --lock, absolute; NULL: none */
	const char *python;             /* --python X.Y; NULL: the tree's */
	bool json;
	struct aj_arena *arena;
};

/* The Python that the packages are for, as the manifest of its tree says. */
struct aj_env_target {
	const char *rootfs;
	const char *python; /* 3.11 */
	const char *arch;   /* x86_64 */
	unsigned glibc;     /* of its version 2.N */
};

/* Exit code; -1 with err. */
int aj_env_create(const struct aj_env_args *args, struct aj_error *err);
int aj_env_update(const struct aj_env_args *args, struct aj_error *err);
int aj_env_list(const struct aj_env_args *args, struct aj_error *err);
int aj_env_show(const struct aj_env_args *args, struct aj_error *err);
int aj_env_path(const struct aj_env_args *args, struct aj_error *err);
int aj_env_verify(const struct aj_env_args *args, struct aj_error *err);
int aj_env_remove(const struct aj_env_args *args, struct aj_error *err);

/* Open the folder of environments. -1: with errno; ENOENT: it is missing, and not to be made. */
int aj_env_open_all(bool make);
/* "NAME.lock" in it, held until the descriptor is closed; waits for another process that holds it. -1 with err. */
int aj_env_lock(int all, const char *name, struct aj_error *err);
/* The environment's folder as a path, and its env.json. NULL with err; `what` advises what to do where it does not exist. */
json_t *aj_env_read(const char *name, struct aj_arena *arena, const char **ret_path, struct aj_error *err);
int aj_env_find_target(struct aj_env_target *ret, const char *python, struct aj_arena *arena, struct aj_error *err);

/* Start a program of the host with the caller's environment, standard input empty, and standard output `out`: -1 /dev/null, or a
 * descriptor. Returns its exit code, 128 and the signal's number, or -1 with errno where it does not start. */
int aj_env_run(const char *const words[], int out, int errors);
/* From here on signals that end a program are noted, and passed on to the program that runs. */
void aj_env_note_signals(void);
/* The number of the first one; 0: none came. */
int aj_env_interrupted(void);

/* Unpack the wheels of the request into the folder `site`, by uv or pip. `*ret_tool`: which. */
int aj_env_download(const struct aj_env_args *args, const struct aj_env_target *target, const char *site, const char **ret_tool,
                    struct aj_error *err);
/* Compile the modules below `folder`/site, in jails. A module that does not compile stays source. False: none was compiled. */
bool aj_env_compile(const char *folder, const struct aj_env_target *target, struct aj_arena *arena);
/* What `site` holds, as its *.dist-info folders say: "packages" and "imports" of env.json. */
int aj_env_inventory(const char *site, json_t *env, struct aj_arena *arena, struct aj_error *err);
/* Make the files of `folder`/site read-only, share them with other environments through `store`, and write `folder`/manifest. */
int aj_env_seal(const char *folder, const char *store, uint64_t *ret_bytes, struct aj_arena *arena, struct aj_error *err);
/* Remove the files of the store that no environment has. */
void aj_env_sweep_store(const char *store);
const char *aj_env_store(struct aj_arena *arena);

/* bytecode.py: what those jails run. */
extern const char aj_env_bytecode_script[];
