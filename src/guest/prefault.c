/* Learns from a trial which pages a newborn jail copies and maps, and has the kernel do so all at once.
 * It is about time alone: no wall hangs on it, and what it gets wrong is a page fault more or a page too much. */
#include "guest/prefault.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "guest/birth.h"

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum { PAGE = 4096, RANGES_MAX = 1500, MAPS_BYTES = 256 << 10, BATCH = 512 };
/* So many pages more are cheaper than one call more. */
enum { GAP = 1 };
/* What a file holds is mapped in pieces of this size and alignment, whichever page of it is asked for: one page is asked for. */
enum { AROUND = 64 << 10 };
/* In an entry of /proc/PID/pagemap: the page is there; nobody else maps it. */
#define PRESENT (1ULL << 63)
#define EXCLUSIVE (1ULL << 56)

struct range {
	uintptr_t start, end;
	int advice;
};

/* Shared between zygote and trial; the newborn keeps a copy that is only read. */
static struct learnt {
	size_t count;
	struct range ranges[RANGES_MAX];
} * learnt;

static void add(uintptr_t page, int advice)
{
	struct range *last = learnt->count ? &learnt->ranges[learnt->count - 1] : NULL;
	if (last && last->advice == advice && page >= last->start && page <= last->end + (uintptr_t)GAP * PAGE)
		last->end = page + PAGE;
	else if (learnt->count < RANGES_MAX)
		learnt->ranges[learnt->count++] = (struct range){ page, page + PAGE, advice };
}

/* One mapping: what was written; or, where nothing can be, what was looked at. */
static void learn_mapping(int pagemap, uintptr_t start, uintptr_t end, bool writable)
{
	static uint64_t entries[BATCH];
	uintptr_t last = 0;
	for (uintptr_t at = start; at < end; at += BATCH * (uintptr_t)PAGE) {
		size_t count = (end - at) / PAGE < BATCH ? (end - at) / PAGE : BATCH;
		if (pread(pagemap, entries, count * sizeof *entries, (off_t)(at / PAGE * sizeof *entries)) !=
		    (ssize_t)(count * sizeof *entries))
			return;
		for (size_t i = 0; i < count; i++) {
			uintptr_t page = at + i * PAGE;
			if (!(entries[i] & PRESENT))
				continue;
			if (writable && (entries[i] & EXCLUSIVE))
				add(page, MADV_POPULATE_WRITE);
			else if (!writable && page / AROUND != last / AROUND)
				add(last = page, MADV_POPULATE_READ);
		}
	}
}

static void look(int proc_fd)
{
	static char maps[MAPS_BYTES];
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* or they are not ours to read */
	cleanup_fd int maps_fd = openat(proc_fd, "self/maps", O_RDONLY | O_CLOEXEC);
	cleanup_fd int pagemap = openat(proc_fd, "self/pagemap", O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	for (ssize_t n = 1; maps_fd >= 0 && n > 0 && have<sizeof maps - 1; have += n> 0 ? (size_t)n : 0)
		n = read(maps_fd, maps + have, sizeof maps - 1 - have);
	maps[have] = '\0';
	for (char *line = maps, *next; pagemap >= 0 && *line; line = next) {
		uintptr_t start, end;
		char rights[5];
		next = line + strcspn(line, "\n");
		next += *next != '\0';
		/* Shared ones are not copied, and "[vvar]" and its like are the kernel's. */
		if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3 && rights[0] == 'r' && rights[3] == 'p' &&
		    end < UINTPTR_MAX / 2 && !memmem(line, (size_t)(next - line), "[v", 2))
			learn_mapping(pagemap, start, end, rights[1] == 'w');
	}
}

void aj_prefault_learn(int proc_fd, void (*trial)(void))
{
	struct learnt *room = mmap(NULL, sizeof *room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return;
	learnt = room;
	pid_t pid = aj_birth_copy();
	if (pid == 0) {
		trial();
		look(proc_fd);
		_exit(0);
	}
	int status;
	bool whole = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	/* No memory may be shared between jails: what was learnt is copied out of it. Not into the heap, which has to look as it did
	 * before the trial. */
	learnt = whole ? mmap(NULL, sizeof *learnt, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
	if (learnt == MAP_FAILED)
		learnt = NULL;
	if (learnt)
		memcpy(learnt, room, sizeof *learnt);
	munmap(room, sizeof *room);
}

void aj_prefault(void)
{
	for (size_t i = 0; learnt && i < learnt->count; i++) {
		const struct range *r = &learnt->ranges[i];
		/* What is not there any more, or a kernel that does not know how, costs page faults. */
		madvise((void *)r->start, r->end - r->start, r->advice); /* NOLINT(performance-no-int-to-ptr) */
	}
}
