/* Collects the reports of one run's relay and publisher, and composes the fields of a result from them.
 * It keeps a bounded number of different reports, and counts the others. */
#include "jail/result/network_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more of `count` items: the array grows by doubling. */
static void *make_room(void *items, size_t count, size_t item_bytes)
{
	if (count & (count - 1))
		return items;
	items = realloc(items, (count ? 2 * count : 1) * item_bytes);
	if (!items)
		abort();
	return items;
}

static bool is_same(const struct aj_network_trouble *a, const struct aj_network_trouble *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0 && strcmp(a->why, b->why) == 0;
}

void aj_network_add_trouble(struct aj_network_troubles *list, const struct aj_network_trouble *one)
{
	list->total += one->count;
	for (size_t i = 0; i < list->count; i++)
		if (is_same(&list->items[i], one)) {
			list->items[i].count += one->count;
			return;
		}
	if (list->count == AJ_NETWORK_TROUBLES_MAX) {
		list->lookups_beyond += one->port == 0 && one->unlisted ? one->count : 0;
		return;
	}
	list->items = make_room(list->items, list->count, sizeof *list->items);
	list->items[list->count++] = *one;
}

void aj_network_add_refused(struct aj_network_troubles *list, const struct aj_network_trouble *one, uint64_t lookups)
{
	struct aj_network_trouble *asked = NULL;
	bool known = false;
	for (size_t i = 0; i < list->count; i++) {
		struct aj_network_trouble *item = &list->items[i];
		known |= is_same(item, one);
		if (one->port && item->port == 0 && item->unlisted && strcmp(item->host, one->host) == 0)
			asked = item;
	}
	if (asked && lookups) {
		uint64_t same = lookups < asked->count ? lookups : asked->count;
		asked->count -= same;
		list->total -= same;
		if (asked->count == 0 && !known) { /* in its place, which is that of the first look-up */
			*asked = *one;
			list->total += one->count;
			return;
		}
		if (asked->count == 0) {
			size_t behind = (size_t)(list->items + list->count - (asked + 1));
			memmove(asked, asked + 1, behind * sizeof *asked);
			list->count--;
		}
	}
	if (!asked) {
		uint64_t same = lookups < list->lookups_beyond ? lookups : list->lookups_beyond;
		list->lookups_beyond -= same;
		list->total -= same;
	}
	aj_network_add_trouble(list, one);
}

void aj_network_add_connection(struct aj_network_use *network, const struct aj_network_connection *one)
{
	network->total++;
	network->bytes_out += one->bytes_out;
	network->bytes_in += one->bytes_in;
	if (network->total > AJ_NETWORK_CONNECTIONS_MAX)
		return;
	network->connections = make_room(network->connections, network->connection_count, sizeof *network->connections);
	network->connections[network->connection_count++] = *one;
}

void aj_network_add_published(struct aj_network_use *network, const struct aj_network_published *one)
{
	network->published_total++;
	network->published_bytes_out += one->bytes_out;
	network->published_bytes_in += one->bytes_in;
	if (network->published_total > AJ_NETWORK_CONNECTIONS_MAX)
		return;
	network->published = make_room(network->published, network->published_count, sizeof *network->published);
	network->published[network->published_count++] = *one;
}

void aj_network_add_answer(struct aj_network_use *network, const struct aj_network_answer *one)
{
	if (network->answer_count == AJ_NETWORK_ANSWERS_MAX)
		return;
	network->answers = make_room(network->answers, network->answer_count, sizeof *network->answers);
	network->answers[network->answer_count++] = *one;
}

bool aj_network_unrecorded(const struct aj_network_use *network)
{
	return network->connection_count || network->published_count || network->answer_count;
}

void aj_network_forget_recorded(struct aj_network_use *network)
{
	free(network->connections);
	free(network->published);
	free(network->answers);
	network->connections = NULL;
	network->published = NULL;
	network->answers = NULL;
	network->connection_count = network->published_count = network->answer_count = 0;
}

bool aj_network_used(const struct aj_network_use *network)
{
	return network->total || network->published_total || network->answer_count || network->bytes_out || network->bytes_in ||
	       network->refused.total || network->failed.total;
}

void aj_network_free(struct aj_network_use *network)
{
	free(network->refused.items);
	free(network->failed.items);
	aj_network_forget_recorded(network);
	*network = (struct aj_network_use){ 0 };
}

static json_t *trouble_json(const struct aj_network_trouble *one)
{
	return json_pack("{s:s, s:o, s:I, s:s}", "host", one->host, "port", one->port ? json_integer(one->port) : json_null(),
	                 "count", (json_int_t)one->count, "why", one->why);
}

void aj_network_add_violations(const struct aj_network_use *network, json_t *violations)
{
	for (size_t i = 0; i < network->refused.count; i++) {
		const struct aj_network_trouble *one = &network->refused.items[i];
		json_t *json = trouble_json(one);
		json_object_set_new(json, "instead", json_string(one->instead));
		json_array_append_new(violations, json);
	}
}

json_t *aj_network_json(const struct aj_network_use *network)
{
	if (!network->relayed && !network->publishes)
		return NULL;
	json_t *failed = json_array();
	for (size_t i = 0; i < network->failed.count; i++)
		json_array_append_new(failed, trouble_json(&network->failed.items[i]));
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I}", "connections", (json_int_t)network->total, "open",
	                 (json_int_t)network->open, "refused", (json_int_t)network->refused.total, "bytes_out",
	                 (json_int_t)network->bytes_out, "bytes_in", (json_int_t)network->bytes_in, "failed", failed, "published",
	                 (json_int_t)network->published_total, "published_bytes_out", (json_int_t)network->published_bytes_out,
	                 "published_bytes_in", (json_int_t)network->published_bytes_in);
}
