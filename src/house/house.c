/* Keeps policies and the pools behind them: one for each edition, tenant and workspace.
 * An edition that is not fresh any more gets no new session, and its pool goes when the last one has left. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "house/inner.h"
#include "run/places.h"

void aj_house_log(const struct aj_house *house, const char *what, const struct aj_error *err)
{
	char text[900], line[1100];
	if (!house->config.log)
		return;
	snprintf(line, sizeof line, "%s: %s", what, aj_error_text(err, text, sizeof text));
	house->config.log(house->config.log_arg, line);
}

static void free_room(struct aj_room *room)
{
	struct aj_room **at = &room->house->rooms;
	while (*at != room)
		at = &(*at)->next;
	*at = room->next;
	aj_pool_free(room->pool);
	aj_id_give(&room->id);
	aj_edition_release(room->edition);
	free(room->tenant);
	free(room->workspace);
	free(room);
}

bool aj_house_current(const struct aj_room *room)
{
	if (room->stale)
		return false;
	for (size_t i = 0; i < room->house->book.count; i++)
		if (room->house->book.items[i].current == room->edition)
			return true;
	return false;
}

/* Rooms of old editions, and of workspaces, end with their last session. */
static void on_sweep(struct aj_timer *timer)
{
	struct aj_house *house = timer->arg;
	for (struct aj_room *room = house->rooms, *next; room; room = next) {
		next = room->next;
		if (room->stale)
			aj_pool_retire(room->pool);
		if (room->sessions == 0 && aj_pool_used(room->pool) == 0 && (room->workspace || !aj_house_current(room)))
			free_room(room);
	}
}

struct aj_house *aj_house_new(struct aj_loop *loop, const struct aj_house_config *config, struct aj_error *err)
{
	struct aj_house *house = calloc(1, sizeof *house);
	if (!house)
		abort();
	house->loop = loop;
	house->config = *config;
	house->sweep = (struct aj_timer){ .fn = on_sweep, .arg = house };
	if (aj_host_gather(&house->host, &house->arena, config->cgroup, err) < 0) {
		aj_arena_free(&house->arena);
		free(house);
		return NULL;
	}
	return house;
}

void aj_house_free(struct aj_house *house)
{
	aj_loop_unset(house->loop, &house->sweep);
	while (house->rooms)
		free_room(house->rooms);
	for (size_t i = 0; i < house->book.count; i++)
		aj_edition_release(house->book.items[i].current);
	aj_arena_free(&house->arena);
	free(house);
}

/* An edition that can be used: the one there is, or a new reading. */
static struct aj_edition *open_book(struct aj_house *house, struct aj_book_entry *entry, struct aj_error *err)
{
	if (entry->current && aj_edition_fresh(entry->current))
		return entry->current;
	struct aj_edition *old = entry->current;
	entry->current = aj_edition_read(house->config.site, entry->ask, house->config.rootfs, err);
	for (struct aj_room *room = house->rooms; room && old; room = room->next)
		if (room->edition == old)
			aj_pool_retire(room->pool);
	aj_edition_release(old);
	aj_loop_set(house->loop, &house->sweep, aj_now_us());
	return entry->current;
}

int aj_house_add_policy(struct aj_house *house, const struct aj_ask *ask, const char *name, struct aj_error *err)
{
	struct aj_book_entry entry = { .ask = ask };
	if (!open_book(house, &entry, err))
		return -1;
	entry.name = aj_strdup(&house->arena, name ? name : entry.current->loaded.policy.name);
	for (size_t i = 0; i < house->book.count; i++)
		if (strcmp(house->book.items[i].name, entry.name) == 0) {
			aj_edition_release(entry.current);
			return aj_fail(err, AJ_EXIT_USAGE, "policy", 0, "two policies are called `%s`", entry.name);
		}
	*AJ_PUSH(&house->arena, &house->book) = entry;
	return 0;
}

size_t aj_house_policies(const struct aj_house *house)
{
	return house->book.count;
}

const char *aj_house_policy_name(const struct aj_house *house, size_t index)
{
	return house->book.items[index].name;
}

static struct aj_book_entry *find_entry(struct aj_house *house, const char *name, struct aj_error *err)
{
	for (size_t i = 0; i < house->book.count; i++)
		if (!name || strcmp(house->book.items[i].name, name) == 0)
			return &house->book.items[i];
	aj_fail(err, AJ_EXIT_USAGE, "policy", 0, name ? "no policy is called `%s` here" : "no policy is served here", name);
	return NULL;
}

/* Not what passes, as a lack of descriptors or of memory: a limit that was taken away for it would be missing for ever after. */
static bool lasts(int errnum)
{
	static const int lasting[] = { EACCES,  EPERM,        EBUSY,  EROFS,      ENOENT, ENODEV,
		                       ENOTDIR, ENAMETOOLONG, EINVAL, EOPNOTSUPP, ENOSYS };
	for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
		if (lasting[i] == errnum)
			return true;
	return false;
}

void aj_house_on_trouble(void *arg, const struct aj_error *err)
{
	struct aj_room *room = arg;
	struct aj_house *house = room->house;
	aj_house_log(house, room->policy, err);
	/* As `exec` does: one that we found ourselves and cannot use after all is done without, where the policy allows it. */
	if (strcmp(err->step, "cgroup") != 0 || house->config.cgroup || !lasts(err->errnum))
		return;
	house->host.cgroup = NULL;
	house->host.cgroup_why = aj_strdup(&house->arena, err->cause);
	/* Its plan names what cannot be used, and so do others'. */
	room->stale = true;
	for (struct aj_room *other = house->rooms; other; other = other->next)
		other->stale |= aj_pool_plan(other->pool)->cgroup != NULL;
	aj_loop_set(house->loop, &house->sweep, aj_now_us());
}

/* One more would be too many: the one that was not used for the longest goes, if nobody is in it. */
static int make_way(struct aj_house *house, struct aj_error *err)
{
	unsigned count = 0;
	struct aj_room *oldest = NULL;
	for (struct aj_room *room = house->rooms; room; room = room->next) {
		count++;
		if (room->sessions == 0 && aj_pool_used(room->pool) == 0 && (!oldest || room->last_used_us < oldest->last_used_us))
			oldest = room;
	}
	if (!house->config.pools_max || count < house->config.pools_max)
		return 0;
	if (!oldest)
		return aj_fail(err, AJ_EXIT_LIMIT, "busy", 0, "%u policies and tenants are in use, and no more may be", count);
	free_room(oldest);
	return 0;
}

static struct aj_room *new_room(struct aj_house *house, const struct aj_book_entry *entry, const char *tenant,
                                const struct aj_place *place, struct aj_error *err)
{
	if (make_way(house, err) < 0)
		return NULL;
	struct aj_room *room = calloc(1, sizeof *room);
	if (!room)
		abort();
	room->house = house;
	room->host = house->host;
	if (aj_id_take(&room->id, &room->host, &entry->current->site, err) < 0) {
		free(room);
		return NULL;
	}
	struct aj_pool_config config = { .policy = &entry->current->loaded.policy,
		                         .host = &room->host,
		                         .rootfs = entry->current->rootfs,
		                         .branching = place->branching,
		                         .cgroup = house->config.cgroup,
		                         .depth = house->config.parked,
		                         .jails_max = house->config.jails_max,
		                         .ready_ms = house->config.ready_ms,
		                         .on_trouble = aj_house_on_trouble,
		                         .trouble_arg = room };
	room->policy = entry->name;
	room->tenant = strdup(tenant);
	room->workspace = place->workspace ? strdup(place->workspace) : NULL;
	room->branching = place->branching;
	config.workspace = room->workspace;
	room->pool = aj_pool_new(house->loop, &config, err);
	if (!room->pool || !room->tenant || (place->workspace && !room->workspace)) {
		aj_id_give(&room->id);
		free(room->tenant);
		free(room->workspace);
		free(room);
		return NULL;
	}
	if (aj_pool_plan(room->pool)->host_uid != room->id.id)
		aj_id_give(&room->id); /* its plan has no use for one */
	room->edition = entry->current;
	room->edition->references++;
	room->next = house->rooms;
	return house->rooms = room;
}

/* For each session anew: what a path leads to may have changed. */
static struct aj_room *checked_room(struct aj_house *house, const struct aj_place *asked, struct aj_arena *arena, struct aj_error *err)
{
	const char *tenant = asked->tenant ? asked->tenant : "";
	struct aj_book_entry *entry = find_entry(house, asked->policy, err);
	if (!entry || !open_book(house, entry, err))
		return NULL;
	struct aj_request request = { .workspace = asked->workspace, .rootfs = entry->current->rootfs };
	if (aj_places_check(&request, &entry->current->loaded, &entry->current->site, arena, err) < 0)
		return NULL;
	struct aj_place found = *asked, *place = &found;
	found.workspace = request.workspace;
	struct aj_room *room = house->rooms;
	while (room && (room->stale || room->edition != entry->current || room->branching != place->branching ||
	                strcmp(room->tenant, tenant) != 0 ||
	                strcmp(room->workspace ? room->workspace : "", place->workspace ? place->workspace : "") != 0))
		room = room->next;
	if (!room)
		room = new_room(house, entry, tenant, place, err);
	if (room) {
		room->sessions++;
		room->last_used_us = aj_now_us();
	}
	return room;
}

struct aj_room *aj_house_room(struct aj_house *house, const struct aj_place *place, struct aj_error *err)
{
	struct aj_arena arena = { 0 };
	struct aj_room *room = checked_room(house, place, &arena, err);
	aj_arena_free(&arena);
	return room;
}

void aj_house_leave(struct aj_room *room)
{
	room->last_used_us = aj_now_us();
	if (--room->sessions == 0 && (room->workspace || !aj_house_current(room)))
		aj_loop_set(room->house->loop, &room->house->sweep, aj_now_us());
}

unsigned aj_house_jails(const struct aj_house *house)
{
	unsigned jails = 0;
	for (const struct aj_room *room = house->rooms; room; room = room->next) {
		struct aj_pool_counts counts;
		aj_pool_count(room->pool, &counts);
		jails += counts.parked + counts.starting + aj_pool_used(room->pool);
	}
	return jails;
}

json_t *aj_house_stats(const struct aj_house *house)
{
	json_int_t parked = 0, starting = 0, waiting = 0, zygotes = 0, deaths = 0, births = 0, failures = 0;
	json_t *pools = json_array();
	for (const struct aj_room *room = house->rooms; room; room = room->next) {
		struct aj_pool_counts c;
		aj_pool_count(room->pool, &c);
		parked += c.parked;
		starting += c.starting;
		waiting += c.asked;
		zygotes += c.warm;
		deaths += (json_int_t)c.zygote_deaths;
		births += (json_int_t)c.births;
		failures += (json_int_t)c.failures;
		json_array_append_new(pools, json_pack("{s:s, s:s, s:s?, s:b, s:s?, s:i, s:i, s:i, s:i, s:i}", "policy",
		                                       room->policy, "tenant", room->tenant, "workspace", room->workspace, "warm",
		                                       c.warm, "cold_because", c.cold_why, "parked", (int)c.parked, "starting",
		                                       (int)c.starting, "waiting", (int)c.asked, "used",
		                                       (int)aj_pool_used(room->pool), "sessions", (int)room->sessions));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "jails", (json_int_t)aj_house_jails(house), "parked",
	                 parked, "starting", starting, "waiting", waiting, "zygotes", zygotes, "zygote_deaths", deaths, "births",
	                 births, "failures", failures, "pools", pools);
}
