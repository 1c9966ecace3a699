/* An array of rows in anonymous shared memory, with a free list that only the helper uses.
 * The supervisor reads only rows, and uses no number from the memory as an index. */
#include "network/helper/unsent.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

struct aj_unsent_head {
	uint32_t stop;    /* written by the supervisor */
	uint32_t stopped; /* written by the helper, as the rest */
	uint32_t free;    /* first free row + 1; 0: none */
	uint32_t reached; /* rows below this index have been used */
	_Alignas(16) char rows[];
};

static size_t all_bytes(const struct aj_unsent *unsent)
{
	return sizeof *unsent->head + unsent->count * unsent->row_bytes;
}

static struct aj_unsent_row *row_at(const struct aj_unsent *unsent, size_t number)
{
	return (struct aj_unsent_row *)(void *)(unsent->head->rows + number * unsent->row_bytes);
}

int aj_unsent_open(struct aj_unsent *unsent, size_t count, size_t row_bytes, const char *step, struct aj_error *err)
{
	*unsent = (struct aj_unsent){ .count = count, .row_bytes = row_bytes };
	void *memory = mmap(NULL, all_bytes(unsent), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return aj_fail(err, AJ_EXIT_SETUP, step, errno, "share memory for reports of %zu connections", count);
	unsent->head = memory;
	return 0;
}

void aj_unsent_dont_fork(const struct aj_unsent *unsent)
{
	if (unsent->head)
		madvise(unsent->head, all_bytes(unsent), MADV_DONTFORK);
}

void aj_unsent_close(struct aj_unsent *unsent)
{
	if (unsent->head)
		munmap(unsent->head, all_bytes(unsent));
	*unsent = (struct aj_unsent){ 0 };
}

struct aj_unsent_row *aj_unsent_take(const struct aj_unsent *unsent)
{
	struct aj_unsent_head *head = unsent->head;
	if (!head->free && head->reached == unsent->count)
		return NULL;
	struct aj_unsent_row *row = row_at(unsent, head->free ? head->free - 1 : head->reached);
	if (head->free)
		head->free = row->next;
	else
		head->reached++;
	memset(row, 0, unsent->row_bytes);
	row->used = 1;
	return row;
}

void aj_unsent_release(const struct aj_unsent *unsent, struct aj_unsent_row *row)
{
	struct aj_unsent_head *head = unsent->head;
	row->used = 0;
	row->next = head->free;
	head->free = (uint32_t)((size_t)((char *)row - head->rows) / unsent->row_bytes) + 1;
}

bool aj_unsent_stop_asked(const struct aj_unsent *unsent)
{
	return __atomic_load_n(&unsent->head->stop, __ATOMIC_ACQUIRE);
}

void aj_unsent_stopped(const struct aj_unsent *unsent)
{
	__atomic_store_n(&unsent->head->stopped, 1, __ATOMIC_RELEASE);
}

void aj_unsent_ask_stop(const struct aj_unsent *unsent)
{
	if (unsent->head)
		__atomic_store_n(&unsent->head->stop, 1, __ATOMIC_RELEASE);
}

bool aj_unsent_has_stopped(const struct aj_unsent *unsent)
{
	return unsent->head && __atomic_load_n(&unsent->head->stopped, __ATOMIC_ACQUIRE);
}

bool aj_unsent_next(const struct aj_unsent *unsent, bool killed, size_t *at, void *ret)
{
	struct aj_unsent_row *row = ret;
	size_t reached = unsent->head ? __atomic_load_n(&unsent->head->reached, __ATOMIC_ACQUIRE) : 0;
	while (*at < reached && *at < unsent->count) {
		memcpy(ret, row_at(unsent, (*at)++), unsent->row_bytes);
		if (!row->used)
			continue;
		if (killed) {
			row->out.written = row->out.read;
			row->in.written = row->in.read;
		}
		return true;
	}
	return false;
}
