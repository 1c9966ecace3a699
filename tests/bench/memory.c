/* Reads what the kernel says of our children: a zygote, and jails, each an init with the guest as its child.
 * An init that shares the zygote's memory is not counted again, and only the kernel's word counts for that. */
#include "memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "floors.h"

enum { CHILDREN_MAX = 4096, KCMP_VM = 1 };

static size_t children_of(pid_t pid, pid_t *ret)
{
	char path[64];
	size_t count = 0;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	while (count < CHILDREN_MAX && fscanf(f, "%d", &ret[count]) == 1)
		count++;
	fclose(f);
	return count;
}

static void add_memory(pid_t pid, double *pss_kib, double *private_kib)
{
	char path[64], line[200];
	long kib;
	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		die("%s cannot be read", path);
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "Pss: %ld kB", &kib) == 1)
			*pss_kib += (double)kib;
		else if (sscanf(line, "Private_Clean: %ld kB", &kib) == 1 || sscanf(line, "Private_Dirty: %ld kB", &kib) == 1)
			*private_kib += (double)kib;
	}
	fclose(f);
}

static pid_t others[16];
static size_t other_count;

void memory_not_a_jail(pid_t pid)
{
	others[other_count++] = pid;
}

static bool is_other(pid_t pid)
{
	for (size_t i = 0; i < other_count; i++)
		if (others[i] == pid)
			return true;
	return false;
}

/* PID 1 of the zygote's PID namespace, which names itself. */
static bool is_holder(pid_t pid)
{
	char path[64], name[16] = "";
	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	FILE *f = fopen(path, "re");
	if (f && !fgets(name, sizeof name, f))
		name[0] = '\0';
	if (f)
		fclose(f);
	return strcmp(name, "holder\n") == 0;
}

/* Holder and inits: also the one that the zygote makes ahead of its order, which has the zygote's name. */
static bool is_first_of_namespace(pid_t pid)
{
	char path[64], line[200];
	bool is = false;
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "NSpid:", 6) == 0)
			is = strcmp(strrchr(line, '\t'), "\t1\n") == 0;
	if (f)
		fclose(f);
	return is;
}

static pid_t find_zygote(const pid_t *children, size_t count)
{
	pid_t zygote = 0;
	for (size_t i = 0; i < count; i++) {
		if (is_other(children[i]) || is_first_of_namespace(children[i]))
			continue;
		if (zygote)
			die("there is more than one zygote");
		zygote = children[i];
	}
	return zygote;
}

void memory_of_jails(struct memory *ret)
{
	static pid_t children[CHILDREN_MAX], guests[CHILDREN_MAX];
	size_t count = children_of(getpid(), children);
	pid_t zygote = find_zygote(children, count);
	*ret = (struct memory){ 0 };
	if (!zygote)
		die("no zygote");
	add_memory(zygote, &ret->zygote_pss_kib, &ret->zygote_private_kib);
	for (size_t i = 0; i < count; i++) {
		if (is_holder(children[i])) {
			add_memory(children[i], &ret->zygote_pss_kib, &ret->zygote_private_kib);
			continue;
		}
		size_t inside = children[i] == zygote ? 0 : children_of(children[i], guests);
		if (!inside)
			continue;
		ret->jails++;
		if (syscall(SYS_kcmp, zygote, children[i], KCMP_VM, 0, 0) == 0)
			ret->shared_inits++;
		else
			add_memory(children[i], &ret->pss_kib, &ret->private_kib);
		for (size_t k = 0; k < inside; k++)
			add_memory(guests[k], &ret->pss_kib, &ret->private_kib);
	}
	if (ret->jails) {
		ret->pss_kib /= ret->jails;
		ret->private_kib /= ret->jails;
	}
}

static double us_of(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e6 + (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

double used_cpu_us(void)
{
	static pid_t children[CHILDREN_MAX];
	struct rusage self, gone;
	struct timespec t = { 0 };
	clockid_t clock;
	pid_t zygote = find_zygote(children, children_of(getpid(), children));
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &gone);
	if (zygote && clock_getcpuclockid(zygote, &clock) == 0)
		clock_gettime(clock, &t);
	return us_of(&self) + us_of(&gone) + (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

double free_kib(void)
{
	char line[200];
	long kib = 0;
	FILE *f = fopen("/proc/meminfo", "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return (double)kib;
}
