/* Learns from a trial which pages a newborn jail copies and maps, and has the kernel populate them all at once.
 * It only saves time: no wall depends on it, and a wrong guess costs one page fault or one page. */
#include "guest/prefault.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/prctl.h"
#include "guest/birth.h"

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum { PAGE = 4096, RANGES_MAX = 1500, MAPS_BYTES = 256 << 10, BATCH = 512 };
/* The kernel maps file pages around a fault in pieces of this size and alignment (fault-around): one page of each is enough. */
enum { AROUND = 64 << 10 };
/* Bits of a /proc/PID/pagemap entry: page present; page mapped exclusively. */
#define PRESENT (1ULL << 63)
#define EXCLUSIVE (1ULL << 56)

struct range {
	uintptr_t start, end;
	int advice;
};

static struct learnt {
	size_t count, of_birth; /* ranges in all; the first ones, of the birth, in ascending order, then those of the snippet */
	struct range ranges[RANGES_MAX];
} * learnt; /* private: jails may share no memory */

/* Shared between zygote and trial: what the trial writes here is no page that a jail will write. */
static struct trial {
	struct learnt learnt;
	int proc_fd;
	char maps[MAPS_BYTES];
	uint64_t entries[BATCH];
} * trial;

static void add_page(uintptr_t page, int advice)
{
	struct learnt *l = &trial->learnt;
	struct range *last = l->count > l->of_birth ? &l->ranges[l->count - 1] : NULL;
	if (last && last->advice == advice && page == last->end)
		last->end = page + PAGE;
	else if (l->count < RANGES_MAX)
		l->ranges[l->count++] = (struct range){ page, page + PAGE, advice };
}

/* Was the page learnt at the birth? *at: where the search for the page before has ended. */
static bool is_known(uintptr_t page, uintptr_t piece, size_t *at)
{
	const struct learnt *l = &trial->learnt;
	while (*at < l->of_birth && l->ranges[*at].end <= page / piece * piece)
		(*at)++;
	return *at < l->of_birth && l->ranges[*at].start / piece * piece <= page;
}

/* One mapping: its written pages; in a read-only mapping, its mapped pages. */
static void learn_mapping(int pagemap, uintptr_t start, uintptr_t end, bool writable, size_t *known)
{
	uint64_t *entries = trial->entries;
	uintptr_t last = 0;
	for (uintptr_t at = start; at < end; at += BATCH * (uintptr_t)PAGE) {
		size_t count = (end - at) / PAGE < BATCH ? (end - at) / PAGE : BATCH;
		if (pread(pagemap, entries, count * sizeof *entries, (off_t)(at / PAGE * sizeof *entries)) !=
		    (ssize_t)(count * sizeof *entries))
			return;
		for (size_t i = 0; i < count; i++) {
			uintptr_t page = at + i * PAGE;
			if (!(entries[i] & PRESENT) || is_known(page, writable ? PAGE : AROUND, known))
				continue;
			if (writable && (entries[i] & EXCLUSIVE))
				add_page(page, MADV_POPULATE_WRITE);
			else if (!writable && page / AROUND != last / AROUND)
				add_page(last = page, MADV_POPULATE_READ);
		}
	}
}

static void learn_pages(void)
{
	char *maps = trial->maps;
	size_t have = 0, known = 0;
	aj_prctl_dumpable(true); /* otherwise /proc/self/maps and pagemap are not readable */
	cleanup_fd int maps_fd = openat(trial->proc_fd, "self/maps", O_RDONLY | O_CLOEXEC);
	cleanup_fd int pagemap = openat(trial->proc_fd, "self/pagemap", O_RDONLY | O_CLOEXEC);
	for (ssize_t n = 1; maps_fd >= 0 && n > 0 && have<MAPS_BYTES - 1; have += n> 0 ? (size_t)n : 0)
		n = read(maps_fd, maps + have, MAPS_BYTES - 1 - have);
	maps[have] = '\0';
	for (char *line = maps, *next; pagemap >= 0 && *line; line = next) {
		uintptr_t start, end;
		char rights[5];
		next = line + strcspn(line, "\n");
		next += *next != '\0';
		/* Shared mappings are not copied, and "[vvar]" and the like are the kernel's. */
		if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3 && rights[0] == 'r' && rights[3] == 'p' &&
		    end < UINTPTR_MAX / 2 && !memmem(line, (size_t)(next - line), "[v", 2))
			learn_mapping(pagemap, start, end, rights[1] == 'w', &known);
	}
}

void aj_prefault_born(void)
{
	learn_pages();
	trial->learnt.of_birth = trial->learnt.count;
}

void aj_prefault_learn(int proc_fd, void (*run_trial)(void))
{
	trial = mmap(NULL, sizeof *trial, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (trial == MAP_FAILED)
		return;
	trial->proc_fd = proc_fd;
	pid_t pid = aj_birth_fork_trial();
	if (pid == 0) {
		run_trial();
		learn_pages();
		_exit(0);
	}
	int status;
	bool whole = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	/* Copied not into the heap, which must look as before the trial. */
	learnt = whole ? mmap(NULL, sizeof *learnt, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
	if (learnt == MAP_FAILED)
		learnt = NULL;
	if (learnt)
		memcpy(learnt, &trial->learnt, sizeof *learnt);
	munmap(trial, sizeof *trial);
}

static void populate(size_t from, size_t to)
{
	for (const struct range *r = learnt->ranges + from; r < learnt->ranges + to; r++)
		/* A mapping that is gone, or an old kernel without this advice, costs page faults only. */
		madvise((void *)r->start, r->end - r->start, r->advice); /* NOLINT(performance-no-int-to-ptr) */
}

void aj_prefault(void)
{
	if (learnt)
		populate(0, learnt->of_birth);
}

void aj_prefault_snippet(void)
{
	if (learnt)
		populate(learnt->of_birth, learnt->count);
}
