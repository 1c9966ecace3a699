/* THE table: every key of a policy with type, range, default, enforcer and help; policy/load/site_keys.c has the site's in the
 * same form. Parser, defaults, range checks, show, explain, diff, JSON Schema, manual page and fuzz dictionary walk the table. */
#pragma once
#include "base/toml/diag.h"
#include "base/toml/toml.h"
#include "policy/item_types.h"
#include "policy/policy.h"

enum aj_key_type {
	AJ_KEY_BOOL,     /* bool */
	AJ_KEY_ENUM,     /* int-sized enum; names in order from tight to loose */
	AJ_KEY_FLAGS,    /* uint64_t: a set of names, one bit each */
	AJ_KEY_BYTES,    /* uint64_t: "512M", or an integer */
	AJ_KEY_DURATION, /* uint64_t milliseconds: "30s" */
	AJ_KEY_COUNT,    /* uint64_t: an integer */
	AJ_KEY_TEXT,     /* const char * */
	AJ_KEY_LIST,     /* AJ_LIST(const char *) */
};

/* The direction of "looser": more, less, or must a reviewer look at every change? */
enum aj_looser { AJ_LOOSER_MORE, AJ_LOOSER_LESS, AJ_LOOSER_ANY, AJ_LOOSER_NEVER };

enum aj_enforcer {
	AJ_BY_NOBODY,     /* describes the policy */
	AJ_BY_RAIL,       /* the Python layer: early and friendly, and not a wall */
	AJ_BY_LAUNCHER,   /* before anything runs */
	AJ_BY_NAMESPACE,  /* kernel namespaces */
	AJ_BY_MOUNTS,     /* the jail's own file tree */
	AJ_BY_SECCOMP,    /* the system call filter */
	AJ_BY_CGROUP,     /* cgroup v2, else an rlimit */
	AJ_BY_RLIMIT,     /* the kernel's rlimits */
	AJ_BY_SUPERVISOR, /* the process that watches the jail */
};

struct aj_key {
	const char *name; /* section.key, or a key above all sections */
	enum aj_key_type type;
	size_t offset;
	uint64_t min, max;        /* quantities; for lists max is the number of items */
	bool none;                /* quantities: "none" is allowed and stored as 0 */
	bool as_wall;             /* durations: "wall" is allowed and stored as AJ_AS_WALL */
	const char *const *names; /* ENUM, FLAGS: NULL-terminated */
	bool was_boolean;         /* ENUM: true and false are read, too, as the last and the first of `names` */
	const char *fallback;     /* the default as text; lists start empty */
	enum aj_looser looser;
	enum aj_enforcer by;
	const struct aj_item_kind *items; /* TEXT, LIST */
	const char *unwalled;             /* the value that removes the wall */
	bool seen;                        /* decides what programs in the jail see: a working directory's policy may not set it */
	bool host_paths; /* in a policy file, `~` is the caller's home and a relative path starts at the file's folder */
	const char *help;
};

enum { AJ_KEYS_MAX = 80 };
extern const struct aj_key aj_policy_keys[]; /* ends with a NULL name */
extern const size_t aj_policy_key_count;

/* The value of a limit that follows the wall clock until that limit is known. */
#define AJ_AS_WALL UINT64_MAX

/* NULL for an unknown name. */
const struct aj_key *aj_key_find(const struct aj_key *keys, const char *name);
/* The index in aj_policy_keys of a key that is there. */
size_t aj_key_index(const char *name);
const char *aj_key_suggest(const struct aj_key *keys, const char *name);
/* Is the part before the dot a section, and which one does it misspell? */
bool aj_section_known(const struct aj_key *keys, const char *section);
const char *aj_section_suggest(const struct aj_key *keys, const char *section, struct aj_arena *arena);
bool aj_key_is_list(const struct aj_key *key); /* LIST or FLAGS: written as an array, can be extended */
const char *aj_enforcer_name(enum aj_enforcer by);
const char *aj_enforcer_kind(enum aj_enforcer by); /* "kernel wall", "rail"... */

/* Fill every field of `base` (a policy or a site) with its default. */
void aj_keys_default(const struct aj_key *keys, void *base, struct aj_arena *arena);

/* Set from a TOML value; `extend` adds to a list instead of replacing it. 0, or -1 with findings added. */
int aj_key_set_toml(const struct aj_key *key, void *base, const struct aj_toml *value, bool extend, const char *file,
                    struct aj_diags *diags);
/* Set from one word, as on the command line; a list gets one more item. NULL, or the error. */
const char *aj_key_set_text(const struct aj_key *key, void *base, struct aj_arena *arena, const char *text);
/* The same for a quantity in its own unit. */
const char *aj_key_set_number(const struct aj_key *key, void *base, struct aj_arena *arena, uint64_t value);
void aj_key_copy(const struct aj_key *key, void *to, const void *from);

/* "from 1K to 64M, or \"none\"": the range of a quantity. */
const char *aj_key_range(const struct aj_key *key, struct aj_arena *arena);
/* A note on the enforcer with this value: there is no wall, or the key has no effect. NULL when the enforcer's
 * name is accurate. */
const char *aj_key_status(const struct aj_key *key, const struct aj_policy *policy);
/* aj_enforcer_kind() of this key with this value: "no wall" if the wall of its row does not stand. */
const char *aj_key_kind(const struct aj_key *key, const struct aj_policy *policy);

/* A value that is not a list, as one word, without quotes: `true`, `best-effort`, `512M`, `none`. */
const char *aj_key_word(const struct aj_key *key, const void *base, struct aj_arena *arena);
/* Is the value a number, which TOML and JSON write without quotes? */
bool aj_key_is_number(const struct aj_key *key, const void *base);
/* The value as TOML. */
const char *aj_key_value(const struct aj_key *key, const void *base, struct aj_arena *arena);
/* A string as TOML. */
const char *aj_toml_quote(const char *text, struct aj_arena *arena);

enum aj_order { AJ_SAME, AJ_TIGHTER, AJ_LOOSER, AJ_DIFFERENT };
/* Compare `to` with `from` in this key. DIFFERENT: looser in one way and tighter in another, or not comparable. */
enum aj_order aj_key_compare(const struct aj_key *key, const void *from, const void *to, struct aj_arena *arena);

/* Does `outer` allow everything that `inner` does? */
bool aj_key_within(const struct aj_key *key, const void *outer, const void *inner, struct aj_arena *arena);
/* Tighten `base` until it is within `ceiling`. The key must have an order. */
void aj_key_lower(const struct aj_key *key, void *base, const void *ceiling, struct aj_arena *arena);
/* Add an item to a list without a check. */
void aj_key_push(const struct aj_key *key, void *base, struct aj_arena *arena, const char *item);
/* For lists: the items (as TOML) that make `to` looser than `from`: the additional or missing ones. */
const char *aj_key_excess(const struct aj_key *key, const void *from, const void *to, struct aj_arena *arena);
