/* The types of list items: module patterns, binds, jail paths, variables, hosts, names. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct aj_item_kind {
	const char *name; /* for messages: "a module pattern" */
	/* The error in the text, or NULL. */
	const char *(*check)(struct aj_arena *arena, const char *text);
	/* Does `outer` allow everything that `inner` does? */
	bool (*covers)(struct aj_arena *arena, const char *outer, const char *inner);
	const char *pattern; /* regular expression for the JSON Schema */
};

extern const struct aj_item_kind aj_item_import, aj_item_preload, aj_item_bind, aj_item_mask, aj_item_env, aj_item_variable,
    aj_item_in_home, aj_item_toolchain, aj_item_host, aj_item_name, aj_item_key, aj_item_text, aj_item_folder,
    aj_item_destination, aj_item_rootfs, aj_item_hash_seed, aj_item_clock, aj_item_socket, aj_item_reached, aj_item_under,
    aj_item_ids, aj_item_python_env, aj_item_proxy, aj_item_credentials, aj_item_publish, aj_item_place;

/* `numpy`, `numpy.*`, `a.b.c`: identifiers with dots, a star only as the last part. */
bool aj_import_pattern_valid(const char *text);
/* Does the pattern let agent code import the module? */
bool aj_import_covers(const char *pattern, const char *module);
/* A policy's name: a letter or digit, then also - and _; 64 at most. Never a path. */
bool aj_policy_name_valid(const char *text);
/* FIRST-LAST, both above the ids of a host's users; "" and everything else is false. */
bool aj_ids_parse(const char *text, unsigned *ret_first, unsigned *ret_last);
/* Does `rule` (host:port, *.host:port) allow this host and port? Case and one trailing dot do not matter. */
bool aj_host_covers(const char *rule, const char *host_port);
