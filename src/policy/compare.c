/* Decides which of two values is looser, by the rows of the schema; ceilings use the same order.
 * It changes nothing, except in aj_key_lower(). */
#include <string.h>

#include "base/path.h"
#include "policy/bind.h"
#include "policy/field.h"

static bool all_covered(const struct aj_key *key, const aj_text_list *inner, const aj_text_list *outer, struct aj_arena *arena)
{
	for (size_t i = 0; i < inner->count; i++) {
		bool covered = false;
		for (size_t j = 0; j < outer->count && !covered; j++)
			covered = key->items->covers(arena, outer->items[j], inner->items[i]);
		if (!covered)
			return false;
	}
	return true;
}

/* Does `new` lack a bind inside another bind? Without the inner bind, the files that it hid become visible. */
static bool uncovers(const aj_text_list *old, const aj_text_list *new, struct aj_arena *arena)
{
	struct aj_bind gone, kept;
	for (size_t i = 0; i < old->count; i++) {
		bool there = false, inside = false;
		if (aj_bind_parse(arena, old->items[i], &gone))
			continue;
		for (size_t j = 0; j < new->count; j++) {
			if (aj_bind_parse(arena, new->items[j], &kept))
				continue;
			there |= strcmp(kept.target, gone.target) == 0;
			inside |= aj_path_below(gone.target, kept.target);
		}
		if (inside && !there)
			return true;
	}
	return false;
}

static enum aj_order order_of(bool more, bool less)
{
	return more && less ? AJ_DIFFERENT : more ? AJ_LOOSER : less ? AJ_TIGHTER : AJ_SAME;
}

static uint64_t magnitude(const struct aj_key *key, const void *base)
{
	switch (key->type) {
	case AJ_KEY_BOOL:
		return *(const bool *)aj_const_field(key, base);
	case AJ_KEY_ENUM:
		return (uint64_t) * (const int *)aj_const_field(key, base);
	default:
		if (aj_number(key, base) == AJ_AS_WALL) {
			uint64_t wall_ms = ((const struct aj_policy *)base)->wall_ms;
			return wall_ms ? wall_ms : UINT64_MAX;
		}
		return key->none && aj_number(key, base) == 0 ? UINT64_MAX : aj_number(key, base);
	}
}

enum aj_order aj_key_compare(const struct aj_key *key, const void *from, const void *to, struct aj_arena *arena)
{
	const aj_text_list *a = aj_const_field(key, from), *b = aj_const_field(key, to);
	uint64_t x, y;
	enum aj_order order;
	switch (key->type) {
	case AJ_KEY_TEXT:
		return strcmp(*(const char *const *)aj_const_field(key, from), *(const char *const *)aj_const_field(key, to)) == 0
		         ? AJ_SAME
		         : AJ_DIFFERENT;
	case AJ_KEY_LIST:
		order = order_of(!all_covered(key, b, a, arena), !all_covered(key, a, b, arena));
		if (order == AJ_TIGHTER && key->items == &aj_item_bind && uncovers(a, b, arena))
			return AJ_DIFFERENT;
		break;
	case AJ_KEY_FLAGS: {
		uint64_t was = aj_number(key, from), is = aj_number(key, to);
		order = order_of((is & ~was) != 0, (was & ~is) != 0);
		break;
	}
	default:
		x = magnitude(key, from);
		y = magnitude(key, to);
		order = order_of(y > x, y < x);
	}
	if (order == AJ_SAME || order == AJ_DIFFERENT || key->looser == AJ_LOOSER_MORE)
		return order;
	if (key->looser == AJ_LOOSER_LESS)
		return order == AJ_LOOSER ? AJ_TIGHTER : AJ_LOOSER;
	return AJ_DIFFERENT;
}

bool aj_key_within(const struct aj_key *key, const void *outer, const void *inner, struct aj_arena *arena)
{
	enum aj_order order = aj_key_compare(key, outer, inner, arena);
	if (key->type == AJ_KEY_LIST && order == AJ_DIFFERENT) {
		bool more = key->looser == AJ_LOOSER_MORE;
		const void *narrow = more ? inner : outer, *wide = more ? outer : inner;
		return all_covered(key, aj_const_field(key, narrow), aj_const_field(key, wide), arena);
	}
	if (key->type == AJ_KEY_FLAGS && key->looser == AJ_LOOSER_LESS)
		return (aj_number(key, outer) & ~aj_number(key, inner)) == 0;
	return order == AJ_SAME || order == AJ_TIGHTER;
}

void aj_key_lower(const struct aj_key *key, void *base, const void *ceiling, struct aj_arena *arena)
{
	aj_text_list *list = aj_field(key, base), kept = { 0 };
	const aj_text_list *limit = aj_const_field(key, ceiling);
	if (key->type == AJ_KEY_FLAGS) {
		*(uint64_t *)aj_field(key, base) |= aj_number(key, ceiling);
	} else if (key->type != AJ_KEY_LIST) {
		aj_key_copy(key, base, ceiling);
	} else {
		/* More is looser: keep the items that the ceiling covers. Less is looser: add those that it requires. */
		for (size_t i = 0; i < list->count; i++)
			if (key->looser == AJ_LOOSER_LESS ||
			    all_covered(key, &(aj_text_list){ .items = &list->items[i], .count = 1 }, limit, arena))
				*AJ_PUSH(arena, &kept) = list->items[i];
		/* A word such as @anywhere is replaced by the ceiling's folders. */
		bool named = key->items == &aj_item_under && kept.count < list->count;
		for (size_t i = 0; named && i < list->count; i++)
			named = list->items[i][0] == '@';
		for (size_t i = 0; (key->looser == AJ_LOOSER_LESS || named) && i < limit->count; i++)
			*AJ_PUSH(arena, &kept) = limit->items[i];
		*list = kept;
	}
}

const char *aj_key_excess(const struct aj_key *key, const void *from, const void *to, struct aj_arena *arena)
{
	const void *more = key->looser == AJ_LOOSER_LESS ? from : to, *less = key->looser == AJ_LOOSER_LESS ? to : from;
	const aj_text_list *list = aj_const_field(key, more), *limit = aj_const_field(key, less);
	struct {
		uint64_t flags;
		aj_text_list list;
	} excess = { 0 };
	struct aj_key there = *key;
	there.offset = key->type == AJ_KEY_FLAGS ? 0 : offsetof(__typeof__(excess), list);
	if (key->type == AJ_KEY_FLAGS)
		excess.flags = aj_number(key, more) & ~aj_number(key, less);
	else
		for (size_t i = 0; i < list->count; i++)
			if (!all_covered(key, &(aj_text_list){ .items = &list->items[i], .count = 1 }, limit, arena))
				*AJ_PUSH(arena, &excess.list) = list->items[i];
	return aj_key_value(&there, &excess, arena);
}
