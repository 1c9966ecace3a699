/* Tests of guest/huge: where arenas go in a process that is no zygote, in one that becomes one, and in one that is one.
 * Whether the kernel gives huge pages is not asked. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "guest/huge.h"

enum { ARENA = 1 << 20, HUGE = 2 << 20 };

static char *map_arena(size_t bytes)
{
	char *at = mmap64(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(at, MAP_FAILED);
	memset(at, 7, bytes);
	return at;
}

static bool is_pair(const char *first, const char *second)
{
	return (uintptr_t)first % HUGE == 0 && second == first + ARENA;
}

Test(huge, two_arenas_of_each_process)
{
	char *first = map_arena(ARENA), *other = map_arena(3 * ARENA), *second = map_arena(ARENA), *third = map_arena(ARENA);
	cr_expect(is_pair(first, second));
	cr_expect(third < first || third >= first + HUGE);
	cr_expect(other < first || other >= first + HUGE);
}

Test(huge, all_arenas_of_a_zygote_until_it_is_ready)
{
	enum { PAIRS = 5 };
	char *pairs[PAIRS][2];
	aj_huge_all_arenas();
	for (int i = 0; i < PAIRS; i++)
		for (int k = 0; k < 2; k++)
			pairs[i][k] = map_arena(ARENA);
	aj_huge_collapse();
	for (int i = 0; i < PAIRS; i++) {
		cr_expect(is_pair(pairs[i][0], pairs[i][1]), "pair %d", i);
		for (int k = 0; k < 2; k++)
			cr_expect(pairs[i][k][0] == 7 && memcmp(pairs[i][k], pairs[i][k] + 1, ARENA - 1) == 0,
			          "arena %d of pair %d keeps its bytes", k, i);
	}
	char *later[2] = { map_arena(ARENA), map_arena(ARENA) };
	cr_expect_not((uintptr_t)later[0] % HUGE == 0 && is_pair(later[0], later[1]), "a jail's arenas are its own business");
}

/* More than there are places for. */
Test(huge, arenas_without_end)
{
	char *seen[200];
	aj_huge_all_arenas();
	for (int i = 0; i < 200; i++) {
		seen[i] = map_arena(ARENA);
		for (int k = 0; k < i; k++)
			cr_assert(seen[i] >= seen[k] + ARENA || seen[k] >= seen[i] + ARENA, "arenas %d and %d overlap", k, i);
	}
}
