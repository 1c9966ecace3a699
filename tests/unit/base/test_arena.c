/* Tests of base/arena: alignment, zeroed memory, growth, the end of memory.
 * It does not look into blocks: only what the header promises is checked. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

Test(arena, memory_is_zeroed_aligned_and_separate)
{
	struct aj_arena arena = { 0 };
	unsigned char *pieces[400];
	for (size_t i = 0; i < 400; i++) {
		pieces[i] = aj_alloc(&arena, i);
		cr_assert_eq((uintptr_t)pieces[i] % _Alignof(max_align_t), 0, "piece %zu", i);
		for (size_t j = 0; j < i; j++)
			cr_assert_eq(pieces[i][j], 0, "piece %zu byte %zu", i, j);
		memset(pieces[i], (int)(i & 0xff) | 1, i);
	}
	for (size_t i = 0; i < 400; i++)
		for (size_t j = 0; j < i; j++)
			cr_assert_eq(pieces[i][j], (i & 0xff) | 1, "piece %zu was written over", i);
	aj_arena_free(&arena);
	cr_expect_null(arena.blocks);
}

/* Sizes around a block, and beyond one. */
Test(arena, large_pieces)
{
	static const size_t sizes[] = { 8176, 8192, 8193, 100000, 8 << 20, 1 };
	struct aj_arena arena = { 0 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		unsigned char *p = aj_alloc(&arena, sizes[i]);
		p[0] = p[sizes[i] - 1] = 1;
	}
	aj_arena_free(&arena);
}

Test(arena, free_twice_and_use_again)
{
	struct aj_arena arena = { 0 };
	aj_arena_free(&arena);
	cr_expect_str_eq(aj_strdup(&arena, "again"), "again");
	aj_arena_free(&arena);
	aj_arena_free(&arena);
}

Test(arena, strings)
{
	struct aj_arena arena = { 0 };
	char source[] = "text";
	char *copy = aj_strdup(&arena, source);
	source[0] = 'n';
	cr_expect_str_eq(copy, "text");
	cr_expect_str_eq(aj_strdup(&arena, ""), "");
	cr_expect_str_eq(aj_strndup(&arena, "abcdef", 3), "abc");
	cr_expect_str_eq(aj_strndup(&arena, "abcdef", 0), "");
	cr_expect(memcmp(aj_strndup(&arena, "a\0b", 3), "a\0b", 4) == 0, "bytes after a NUL are copied");
	cr_expect_str_eq(aj_printf(&arena, "%s-%d", "x", 7), "x-7");
	char *wide = aj_printf(&arena, "%20000d", 1);
	cr_expect_eq(strlen(wide), 20000);
	cr_expect_eq(wide[19999], '1');
	aj_arena_free(&arena);
}

Test(arena, lists_keep_their_items_while_growing)
{
	struct aj_arena arena = { 0 };
	AJ_LIST(struct {
		int number;
		const char *name;
	}) list = { 0 };
	for (int i = 0; i < 1000; i++) {
		cr_assert_null(AJ_PUSH(&arena, &list)->name, "item %d is not zeroed", i);
		list.items[i].number = i;
		list.items[i].name = "set";
	}
	cr_assert_eq(list.count, 1000);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(list.items[i].number, i);
	aj_arena_free(&arena);
}

Test(arena, absurd_sizes_end_the_program, .exit_code = 125)
{
	struct aj_arena arena = { 0 };
	aj_alloc(&arena, SIZE_MAX - 8);
}
