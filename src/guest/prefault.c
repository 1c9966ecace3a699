/* Learns from a trial which pages a newborn jail copies and maps, and has the kernel populate them all at once.
 * It only saves time: no wall depends on it, and a wrong guess costs one page fault or one page. */
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
/* The kernel maps file pages around a fault in pieces of this size and alignment (fault-around), so one page of each piece is enough. */
enum { AROUND = 64 << 10 };
/* Bits of a /proc/PID/pagemap entry: page present; page mapped exclusively. */
#define PRESENT (1ULL << 63)
#define EXCLUSIVE (1ULL << 56)

struct range {
	uintptr_t start, end;
	int advice;
};

/* Shared between zygote and trial; the newborn only reads a private copy. */
static struct learnt {
	size_t count;
	struct range ranges[RANGES_MAX];
} * learnt;

static void add_page(uintptr_t page, int advice)
{
	struct range *last = learnt->count ? &learnt->ranges[learnt->count - 1] : NULL;
	if (last && last->advice == advice && page == last->end)
		last->end = page + PAGE;
	else if (learnt->count < RANGES_MAX)
		learnt->ranges[learnt->count++] = (struct range){ page, page + PAGE, advice };
}

/* One mapping: its written pages; in a read-only mapping, its mapped pages. */
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
				add_page(page, MADV_POPULATE_WRITE);
			else if (!writable && page / AROUND != last / AROUND)
				add_page(last = page, MADV_POPULATE_READ);
		}
	}
}

static void read_pagemap(int proc_fd)
{
	static char maps[MAPS_BYTES];
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* otherwise /proc/self/maps and pagemap are not readable */
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
		/* Shared mappings are not copied, and "[vvar]" and the like are the kernel's. */
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
	pid_t pid = aj_birth_fork_trial();
	if (pid == 0) {
		trial();
		read_pagemap(proc_fd);
		_exit(0);
	}
	int status;
	bool whole = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	/* Jails may share no memory: copy the result out of the shared mapping. Not into the heap, which must look as before the trial. */
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
		/* A mapping that is gone, or an old kernel without this advice, costs page faults only. */
		madvise((void *)r->start, r->end - r->start, r->advice); /* NOLINT(performance-no-int-to-ptr) */
	}
}
