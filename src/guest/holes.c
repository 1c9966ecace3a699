/* Permanently allocates the free slots that imports and trials left in Python's pools and in libc's heap: otherwise each small
 * object of a newborn jail would go to another page, and each page that is written is copied for that jail. It moves and frees
 * nothing, and a wrong guess about an allocator only costs memory of the zygote. */
#include "guest/holes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "guest/python.h"

/* Python's pools: each begins with a header of its blocks, which are of one size. */
enum { POOL = 16 << 10, POOL_HEADER = 48, BLOCK_STEP = 16, BLOCK_MAX = 512, FILL_MAX = 1 << 20 };
/* libc's heap: blocks so large come from its end; each size up to CACHED_MAX has a list of free blocks of its own. */
enum { LARGE = 64 << 10, LARGE_TRIES = 200, CACHED_MAX = 1032, CHUNK_MIN = 24, CHUNK_STEP = 16, CHUNK_HEADER = 64 };
enum { IN_A_ROW = 3 };

/* Take blocks of this size until they come from the beginning of a fresh pool. False: the interpreter allocates otherwise. */
static bool fill_pools(size_t bytes)
{
	uintptr_t at = 0, last = 0;
	int row = 0;
	for (size_t taken = 0; taken < FILL_MAX && row < IN_A_ROW; taken += bytes, last = at) {
		at = (uintptr_t)aj_python_allocate(bytes);
		row = at % POOL == POOL_HEADER ? 1 : row && at == last + bytes ? row + 1 : 0;
	}
	return row == IN_A_ROW;
}

/* Take blocks of each size, large ones first, until they come from the heap's end. */
static void fill_heap(void)
{
	void *(*volatile allocate)(size_t) = malloc; /* volatile: the compiler drops calls of malloc whose memory is not used */
	uintptr_t at = 0, end = 0;
	int row = 0;
	for (int i = 0; i < LARGE_TRIES && row < IN_A_ROW; i++, end = at) {
		at = (uintptr_t)allocate(LARGE);
		row = at > end && at - end <= LARGE + CHUNK_HEADER ? row + 1 : 0;
	}
	for (size_t bytes = LARGE / 2; row == IN_A_ROW && bytes >= CHUNK_MIN; end = at) {
		for (size_t taken = 0; taken < FILL_MAX && (at = (uintptr_t)allocate(bytes)) && at < end; taken += bytes)
			;
		bytes = bytes / 2 > CACHED_MAX ? bytes / 2 : bytes > CACHED_MAX ? CACHED_MAX : bytes - CHUNK_STEP;
	}
}

void aj_holes_fill(void)
{
	for (size_t bytes = BLOCK_MAX; bytes && fill_pools(bytes); bytes -= BLOCK_STEP)
		;
	fill_heap();
}
