/* Pages of counters in shared memory, each written by one process and read by all.
 * No process waits for another: a reader that meets a page in the middle of a change looks again, and at last takes the page as
 * it is. */
#include "service/metrics/board.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { LOOKS = 1000 };

struct page {
	_Atomic uint32_t beats;
	_Atomic uint32_t changes; /* odd: a change is under way, or was when the process ended */
	struct aj_metrics metrics;
	uint64_t gauges[AJ_GAUGES];
};

struct aj_board {
	unsigned count;
	size_t bytes;
	struct page ended;   /* what processes that have ended had counted */
	struct page pages[]; /* one a process */
};

struct aj_board *aj_board_new(unsigned pages)
{
	size_t bytes = sizeof(struct aj_board) + pages * sizeof(struct page);
	struct aj_board *board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		return NULL;
	board->count = pages;
	board->bytes = bytes;
	return board;
}

void aj_board_free(struct aj_board *board)
{
	if (board)
		munmap(board, board->bytes);
}

void aj_board_keep_from_children(struct aj_board *board)
{
	madvise(board, board->bytes, MADV_DONTFORK);
}

void aj_board_publish(struct aj_board *board, unsigned at, const struct aj_metrics *metrics, const uint64_t gauges[AJ_GAUGES])
{
	struct page *page = &board->pages[at];
	atomic_fetch_add(&page->changes, 1);
	page->metrics = *metrics;
	memcpy(page->gauges, gauges, sizeof page->gauges);
	atomic_fetch_add(&page->changes, 1);
}

void aj_board_beat(struct aj_board *board, unsigned at)
{
	atomic_fetch_add(&board->pages[at].beats, 1);
}

uint32_t aj_board_beats(const struct aj_board *board, unsigned at)
{
	return atomic_load(&board->pages[at].beats);
}

static void add_page(const struct page *page, struct aj_metrics *metrics, uint64_t gauges[AJ_GAUGES])
{
	struct page copy;
	uint32_t before;
	int looks = 0;
	do {
		before = atomic_load(&page->changes);
		memcpy(&copy.metrics, &page->metrics, sizeof copy.metrics);
		memcpy(copy.gauges, page->gauges, sizeof copy.gauges);
	} while ((before % 2 || atomic_load(&page->changes) != before) && ++looks < LOOKS);
	if (metrics)
		aj_metrics_add(metrics, &copy.metrics);
	for (int i = 0; i < AJ_GAUGES; i++)
		gauges[i] += copy.gauges[i];
}

void aj_board_sum(const struct aj_board *board, int except, struct aj_metrics *ret_metrics, uint64_t ret_gauges[AJ_GAUGES])
{
	add_page(&board->ended, ret_metrics, ret_gauges);
	for (unsigned i = 0; i < board->count; i++)
		if ((int)i != except)
			add_page(&board->pages[i], ret_metrics, ret_gauges);
}

void aj_board_retire(struct aj_board *board, unsigned at)
{
	uint64_t gauges[AJ_GAUGES] = { 0 };
	struct aj_metrics metrics = { 0 };
	add_page(&board->pages[at], &metrics, gauges);
	atomic_fetch_add(&board->ended.changes, 1);
	aj_metrics_add(&board->ended.metrics, &metrics);
	board->ended.gauges[AJ_GAUGE_ZYGOTE_DEATHS] += gauges[AJ_GAUGE_ZYGOTE_DEATHS];
	atomic_fetch_add(&board->ended.changes, 1);
	memset(&board->pages[at].metrics, 0, sizeof board->pages[at].metrics);
	memset(board->pages[at].gauges, 0, sizeof board->pages[at].gauges);
	atomic_store(&board->pages[at].changes, 0);
}
