/* Gives Python's arenas places where the kernel can put huge pages: two in each process, and all in a zygote, whose memory every
 * jail copies. It only saves time: without huge pages the memory is the same. */
#include "guest/huge.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE /* Linux 6.1 */
#define MADV_COLLAPSE 25
#endif

/* Python takes memory in arenas of 1 MiB. The first two come from one huge page if the kernel has one: one page fault instead of
 * some 300, and as many fewer pages to free at the end, saves a third of a millisecond.
 * A copy of a zygote shares huge pages, or pieces of them, with fewer steps than as many single pages: a tenth of a birth. */
enum { ARENA = 1 << 20, HUGE = 2 << 20, PAIR = HUGE / ARENA, PAIRS_MAX = 32 };

static char *pairs[PAIRS_MAX];
static int taken;              /* arenas */
static int pairs_in_place = 1; /* so many pairs get a place of their own */
static char *heap_start;

static char *align(char *at)
{
	return (char *)(((uintptr_t)at + HUGE - 1) & ~((uintptr_t)HUGE - 1));
}

static char *make_pair(void)
{
	char *room = mmap(NULL, 2UL * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return NULL;
	char *aligned = align(room), *end = room + 2UL * HUGE;
	/* One remainder is not worth two calls; many would count in each jail's address space. */
	if (pairs_in_place > 1) {
		munmap(room, (size_t)(aligned - room));
		munmap(aligned + HUGE, (size_t)(end - aligned) - HUGE);
	}
	madvise(aligned, HUGE, MADV_HUGEPAGE); /* only a hint: without a huge page the memory works as well */
	return aligned;
}

void aj_huge_all_arenas(void)
{
	heap_start = sbrk(0);
	pairs_in_place = PAIRS_MAX;
}

void aj_huge_collapse(void)
{
	char *heap = align(heap_start), *heap_end = sbrk(0);
	pairs_in_place = 0;
	for (int i = 0; i < PAIRS_MAX && pairs[i]; i++) {
		madvise(pairs[i], HUGE, MADV_COLLAPSE);
		/* Huge pages stay huge; but khugepaged makes none of pages that a jail has written, which would not be shared. */
		madvise(pairs[i], HUGE, MADV_NOHUGEPAGE);
	}
	for (; heap + HUGE <= heap_end; heap += HUGE)
		madvise(heap, HUGE, MADV_COLLAPSE);
}

/* Before any thread exists the first arena of a pair makes it; a thread that comes between takes an ordinary arena. */
__attribute__((visibility("default"))) void *mmap64(void *addr, size_t bytes, int protection, int how, int fd, off64_t offset);
void *mmap64(void *addr, size_t bytes, int protection, int how, int fd, off64_t offset)
{
	enum { READ_WRITE = PROT_READ | PROT_WRITE, PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS };
	if (bytes == ARENA && !addr && fd == -1 && protection == READ_WRITE && how == PRIVATE) {
		int mine = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED), pair = mine / PAIR;
		if (pair < pairs_in_place && mine % PAIR == 0)
			__atomic_store_n(&pairs[pair], make_pair(), __ATOMIC_RELEASE);
		char *place = pair < pairs_in_place ? __atomic_load_n(&pairs[pair], __ATOMIC_ACQUIRE) : NULL;
		if (place)
			return place + (ptrdiff_t)ARENA * (mine % PAIR);
	}
	return (void *)syscall(SYS_mmap, addr, bytes, protection, how, fd, offset);
}
