/* What the parts of the house know of each other; nobody else includes it. */
#pragma once
#include "house/book.h"
#include "house/house.h"
#include "pool/pool.h"
#include "run/ids.h"

/* One pool: an edition of a policy, a tenant, a workspace. */
struct aj_room {
	struct aj_room *next;
	struct aj_house *house;
	struct aj_edition *edition;
	struct aj_host host; /* the house's, with an id of the room's own */
	struct aj_id id;
	const char *policy;       /* the entry's name */
	char *tenant, *workspace; /* "" and NULL for none */
	bool branching;
	struct aj_pool *pool;
	bool stale;        /* gets no new session */
	unsigned sessions; /* that use it or wait for it */
	int64_t last_used_us;
};

struct aj_house {
	struct aj_loop *loop;
	struct aj_house_config config;
	struct aj_arena arena;
	struct aj_host host;
	AJ_LIST(struct aj_book_entry) book;
	struct aj_room *rooms;
	struct aj_timer sweep; /* rooms that nobody needs any more are torn down from the loop */
};

/* The room for a place, made when it is not there. NULL with err. The caller is counted as a session of it. */
struct aj_room *aj_house_room(struct aj_house *house, const struct aj_place *place, struct aj_error *err);
/* Does it get new sessions? */
bool aj_house_current(const struct aj_room *room);
void aj_house_leave(struct aj_room *room);
/* A pool's; `room` is whose. */
void aj_house_on_trouble(void *room, const struct aj_error *err);
void aj_house_log(const struct aj_house *house, const char *what, const struct aj_error *err);
