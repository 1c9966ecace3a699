/* The names that a jail has asked for, each with a synthetic address of its own: number N is 198.18.0.0 + N and fd00:a9e7:: + N.
 * Tables are limited. Listed names have one table, refused names another, with separate addresses. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	AJ_NAMES_MAX = 4096,
	AJ_NAMES_FIRST = 256,         /* the numbers below are for the jail's name server and the listeners */
	AJ_NAMES_REFUSED = 1 << 16,   /* 198.19.0.0/16, fd00:a9e7::1:0: names that are not on the list */
	AJ_NAMES_ADDRESSES = 1 << 17, /* 198.18.0.0/15 */
	AJ_NAMES_REFUSED_MAX = 512,
	AJ_NAMES_TTL_S = 60,             /* of the answers */
	AJ_NAMES_KEEP_US = 180 * 1000000 /* an unused name without connections is kept this long */
};

struct aj_resolved {
	int family; /* AF_INET, AF_INET6 */
	uint8_t address[16];
	const char *refused; /* the class for which no connection is made to it, unless the policy writes it out; NULL: none */
	bool unreachable;    /* the host has no route to it */
};

enum aj_resolution { AJ_UNRESOLVED, AJ_RESOLVING, AJ_RESOLVED };

struct aj_name_waiter;

struct aj_name {
	char text[256]; /* lower case, no final dot */
	uint32_t number;
	unsigned connections; /* that hold a pointer to it */
	int64_t used_us;
	struct aj_name *next; /* in its bucket */
	/* The answer of the relay's own resolution; network/resolve/resolver.c. */
	enum aj_resolution state;
	int64_t until_us;   /* of AJ_RESOLVED */
	const char *failed; /* NULL: `count` addresses follow */
	unsigned count;
	struct aj_resolved addresses[8];
	struct aj_name_waiter *waiters;
	/* Of a name that is refused; network/egress/refused_names.c. */
	bool absent;      /* it has no address */
	uint8_t asked;    /* types of question that its latest look-up has had */
	unsigned lookups; /* that were reported, and that no connection followed yet */
	int64_t looked_us;
};

struct aj_names;

/* Numbers from `first` to below `end`. Beyond `most` names, at most AJ_NAMES_MAX, a name that was not used for `keep_us` and has
 * no connection is replaced. NULL: no memory. */
struct aj_names *aj_names_new(uint32_t first, uint32_t end, size_t most, int64_t keep_us);
void aj_names_free(struct aj_names *names);
/* The name, put into the table if it is not there; NULL: the table is full of names in use. */
struct aj_name *aj_names_take(struct aj_names *names, const char *text, int64_t now_us);
/* The name, if it is in the table. */
struct aj_name *aj_names_find(struct aj_names *names, const char *text);
/* The name with that number; NULL: none (any more). */
struct aj_name *aj_names_at(struct aj_names *names, uint32_t number);
size_t aj_names_count(const struct aj_names *names);

/* `out` is of 4 or 16 bytes, by the family. */
void aj_names_address(int family, uint32_t number, uint8_t *out);
/* Is that a synthetic address? Then *ret_number is its number. */
bool aj_names_number(int family, const uint8_t *address, uint32_t *ret_number);
