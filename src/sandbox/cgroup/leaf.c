/* Kills the processes in a jail's cgroup leaf, reads the kernel's counts, removes the leaf.
 * It requires no file to exist, and signals no process outside the leaf's list. */
#include "sandbox/cgroup/leaf.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* Rounds of the fallback killer, a millisecond each; and milliseconds until the last exit has arrived in the leaf. */
enum { KILL_ROUNDS = 50, REMOVE_MS = 100 };

static int write_file(const char *leaf, const char *file, const char *value)
{
	char path[700];
	int n = snprintf(path, sizeof path, "%s/%s", leaf, file);
	if (n < 0 || (size_t)n >= sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return aj_write_text(AT_FDCWD, path, value);
}

/* The file's text, "" when it cannot be read. */
static bool read_file(const char *leaf, const char *file, char *out, size_t out_bytes)
{
	char path[700];
	int n = snprintf(path, sizeof path, "%s/%s", leaf, file);
	if (n > 0 && (size_t)n < sizeof path && aj_read_text(path, out, out_bytes) >= 0)
		return true;
	out[0] = '\0';
	return false;
}

/* Send SIGKILL to every listed process; returns their number. */
static int kill_listed(const char *leaf)
{
	char path[700];
	int pid, count = 0;
	snprintf(path, sizeof path, "%s/cgroup.procs", leaf);
	FILE *procs = fopen(path, "re");
	/* 0 stands for a process of another PID namespace; neither it nor the supervisor belongs to the jail. */
	while (procs && fscanf(procs, "%d", &pid) == 1)
		if (pid > 1 && pid != getpid() && kill(pid, SIGKILL) == 0)
			count++;
	if (procs)
		fclose(procs);
	return count;
}

/* For kernels without cgroup.kill: frozen processes cannot fork away from the list, and SIGKILL still ends them. */
static void kill_one_by_one(const char *leaf)
{
	for (int round = 0; round < KILL_ROUNDS; round++) {
		write_file(leaf, "cgroup.freeze", "1");
		int count = kill_listed(leaf);
		write_file(leaf, "cgroup.freeze", "0");
		if (!count)
			return;
		usleep(1000);
	}
}

int aj_leaf_take(const char *path, pid_t pid)
{
	char file[600], text[24];
	snprintf(file, sizeof file, "%s/cgroup.procs", path);
	snprintf(text, sizeof text, "%d", pid);
	return path[0] ? aj_write_text(AT_FDCWD, file, text) : 0;
}

void aj_leaf_kill(const char *path)
{
	if (path[0] && write_file(path, "cgroup.kill", "1") < 0)
		kill_one_by_one(path);
}

void aj_leaf_unthrottle(const char *path)
{
	if (path[0])
		write_file(path, "cpu.max", "max");
}

void aj_leaf_remove(const char *path)
{
	/* A cgroup becomes empty asynchronously: the last exit may still be on its way. */
	for (int tries = 0; path[0] && rmdir(path) < 0 && errno == EBUSY && tries < REMOVE_MS; tries++)
		usleep(1000);
}

/* Read the number after `key` at the start of a line; false, and *ret unchanged, without such a line. */
static bool read_keyed(const char *text, const char *key, uint64_t *ret)
{
	size_t bytes = strlen(key);
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, key, bytes) == 0 && line[bytes] == ' ') {
			*ret = strtoull(line + bytes + 1, NULL, 10);
			return true;
		}
	return false;
}

/* io.stat has a line for each device: `8:0 rbytes=1 wbytes=2 ...`. */
static uint64_t sum_of(const char *text, const char *key)
{
	uint64_t sum = 0;
	size_t bytes = strlen(key);
	for (const char *at = text; (at = strstr(at, key)); at += bytes)
		if (at > text && at[-1] == ' ')
			sum += strtoull(at + bytes, NULL, 10);
	return sum;
}

uint64_t aj_leaf_pids_refused(const char *path)
{
	char text[256];
	uint64_t refused = 0;
	if (path[0] && read_file(path, "pids.events", text, sizeof text))
		read_keyed(text, "max", &refused);
	return refused;
}

void aj_leaf_read(const char *path, struct aj_leaf_usage *ret)
{
	char text[8192];
	*ret = (struct aj_leaf_usage){ 0 };
	if (!path[0])
		return;
	if (read_file(path, "memory.peak", text, sizeof text))
		ret->peak_bytes = strtoull(text, NULL, 10);
	read_file(path, "memory.events", text, sizeof text);
	read_keyed(text, "oom", &ret->oom);
	read_keyed(text, "oom_kill", &ret->oom_kills);
	ret->pids_refused = aj_leaf_pids_refused(path);
	read_file(path, "cpu.stat", text, sizeof text);
	ret->knows_cpu = read_keyed(text, "usage_usec", &ret->cpu_us);
	ret->knows_throttling = read_keyed(text, "throttled_usec", &ret->throttled_us) &&
	                        read_keyed(text, "nr_throttled", &ret->throttled);
	if ((ret->knows_io = read_file(path, "io.stat", text, sizeof text))) {
		ret->io_read_bytes = sum_of(text, "rbytes=");
		ret->io_written_bytes = sum_of(text, "wbytes=");
	}
}

void aj_leaf_since(struct aj_leaf_usage *usage, const struct aj_leaf_usage *before)
{
	const struct {
		uint64_t *now, before;
	} counts[] = { { &usage->oom, before->oom },
		       { &usage->oom_kills, before->oom_kills },
		       { &usage->pids_refused, before->pids_refused },
		       { &usage->cpu_us, before->cpu_us },
		       { &usage->throttled_us, before->throttled_us },
		       { &usage->throttled, before->throttled },
		       { &usage->io_read_bytes, before->io_read_bytes },
		       { &usage->io_written_bytes, before->io_written_bytes } };
	/* If the file could not be read this time, 0 is less than before. */
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		*counts[i].now -= *counts[i].now < counts[i].before ? *counts[i].now : counts[i].before;
}
