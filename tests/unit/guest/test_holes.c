/* Tests of guest/holes: memory that is taken afterwards lies side by side, whatever was freed before.
 * The interpreter is a stand-in with addresses only; the heap is this process's own. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

#include "guest/holes.h"
#include "guest/python.h"

enum { POOL = 16 << 10, POOL_HEADER = 48, BLOCK_MAX = 512, HOLES = 100, BLOCKS = 400, PAGE = 4096 };

/* An interpreter whose pools have holes, and behind them, if it has pools, a fresh one for each size. */
static size_t taken[BLOCK_MAX + 1];
static size_t all_bytes;
static int has_pools;

void *aj_python_allocate(size_t bytes)
{
	size_t n = taken[bytes]++;
	all_bytes += bytes;
	uintptr_t at = n < HOLES || !has_pools ? 10 * POOL + n * 7 * bytes : 100 * POOL + POOL_HEADER + (n - HOLES) * bytes;
	return (void *)at; /* NOLINT(performance-no-int-to-ptr) */
}

Test(holes, the_pools_of_each_size_are_filled)
{
	has_pools = 1;
	aj_holes_fill();
	for (size_t bytes = 16; bytes <= BLOCK_MAX; bytes += 16) {
		cr_expect_gt(taken[bytes], HOLES, "%zu", bytes);
		cr_expect_lt(taken[bytes], HOLES + 10, "%zu", bytes);
	}
}

Test(holes, an_interpreter_without_such_pools_gives_up_little)
{
	has_pools = 0;
	aj_holes_fill();
	cr_expect_leq(all_bytes, 2U << 20);
}

#ifndef __SANITIZE_ADDRESS__ /* it has a heap of its own */
/* The greatest distance of blocks that are allocated one after the other. */
static uintptr_t spread(void)
{
	static const size_t sizes[] = { 100, 24, 600, 40, 1000, 200 };
	uintptr_t low = UINTPTR_MAX, high = 0;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		void *volatile block = malloc(sizes[i]);
		uintptr_t at = (uintptr_t)block;
		low = at < low ? at : low;
		high = at > high ? at : high;
	}
	return high - low;
}

Test(holes, the_heap_goes_on_at_its_end)
{
	static void *blocks[BLOCKS];
	has_pools = 1;
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(24 + i % 64 * 16);
	for (size_t i = 0; i < BLOCKS; i += 2)
		free(blocks[i]);
	cr_assert_gt(spread(), 2 * PAGE); /* else the test shows nothing */
	aj_holes_fill();
	cr_expect_lt(spread(), PAGE);
}
#endif
