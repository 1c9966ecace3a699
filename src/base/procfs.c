/* Reads the kernel's files about a process, mainly to verify a runner's filters and empty capabilities before a byte of code is
 * sent. It trusts no message from the runner, and treats a missing line as a missing wall. */
#include "base/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"

enum { USUAL_BYTES = 8192, MOST_BYTES = 1 << 20 }; /* a status file lists the groups of the process, up to 65,536 */

struct proc_text {
	char *data; /* `usual`, or malloced for a larger file; NULL when it cannot be read */
	char usual[USUAL_BYTES];
};

static void free_text(struct proc_text *t)
{
	if (t->data != t->usual)
		free(t->data);
}
#define cleanup_text __attribute__((cleanup(free_text)))

static void read_file(struct proc_text *t, int dir, const char *path)
{
	t->data = t->usual;
	if (aj_read_text_at(dir, path, t->usual, USUAL_BYTES) >= 0)
		return;
	t->data = errno == EFBIG ? malloc(MOST_BYTES) : NULL;
	if (t->data && aj_read_text_at(dir, path, t->data, MOST_BYTES) >= 0)
		return;
	free(t->data);
	t->data = NULL;
}

static void read_below(struct proc_text *t, int proc_fd, pid_t pid, const char *file)
{
	char path[40];
	t->data = NULL;
	snprintf(path, sizeof path, "%s%d/%s", proc_fd == AT_FDCWD ? "/proc/" : "", pid, file);
	if (pid > 0)
		read_file(t, proc_fd, path);
}

static void read_of(struct proc_text *t, pid_t pid, const char *file)
{
	read_below(t, AT_FDCWD, pid, file);
}

int aj_procfs_own_filters(void)
{
	cleanup_text struct proc_text status;
	read_file(&status, AT_FDCWD, "/proc/thread-self/status");
	const char *line = status.data ? strstr(status.data, "\nSeccomp_filters:") : NULL;
	int count;
	return line && sscanf(line, "\nSeccomp_filters: %d", &count) == 1 ? count : -1;
}

/* `branch`: the bounding set is not checked, as the new user namespace fills it. */
static const char *missing_wall(const char *status, size_t filters, bool branch)
{
	static const char *const walls[] = { "\nSeccomp:\t2\n",
		                             "\nNoNewPrivs:\t1\n",
		                             "\nCapPrm:\t0000000000000000\n",
		                             "\nCapEff:\t0000000000000000\n",
		                             "\nCapInh:\t0000000000000000\n",
		                             "\nCapAmb:\t0000000000000000\n",
		                             "\nCapBnd:\t0000000000000000\n" };
	char count[40];
	snprintf(count, sizeof count, "\nSeccomp_filters:\t%zu\n", filters);
	for (size_t i = 0; i < sizeof walls / sizeof *walls - branch; i++)
		if (!strstr(status, walls[i]))
			return "the kernel does not confirm the runner's filter and empty capabilities";
	return strstr(status, count) ? NULL : "the kernel does not confirm the number of the runner's filters";
}

const char *aj_procfs_field(const char *status, const char *name)
{
	size_t bytes = strlen(name);
	for (const char *at = status; (at = strstr(at, name)); at += bytes)
		if (at > status && at[-1] == '\n' && at[bytes] == ':')
			return at + bytes + 1;
	return NULL;
}

/* The last number of a line. */
static pid_t last_number(const char *status, const char *name)
{
	const char *line = aj_procfs_field(status, name);
	long last = 0;
	for (line = line ? line : ""; *line && *line != '\n';) {
		char *end;
		long next = (long)strtoul(line, &end, 10);
		if (end == line)
			break;
		last = next;
		line = end;
	}
	return (pid_t)last;
}

unsigned long aj_procfs_number(int proc_fd, pid_t pid, const char *name)
{
	cleanup_text struct proc_text status;
	read_below(&status, proc_fd, pid, "status");
	const char *at = status.data ? aj_procfs_field(status.data, name) : NULL;
	return at ? strtoul(at, NULL, 10) : 0;
}

bool aj_procfs_signalled(int proc_fd, pid_t tid)
{
	static const char *const names[] = { "SigPnd", "ShdPnd", "SigBlk", "SigIgn" };
	unsigned long sets[4];
	cleanup_text struct proc_text status;
	read_below(&status, proc_fd, tid, "status");
	for (int i = 0; i < 4; i++) {
		const char *at = status.data ? aj_procfs_field(status.data, names[i]) : NULL;
		if (!at)
			return true;
		sets[i] = strtoul(at, NULL, 16);
	}
	return (sets[0] | sets[1]) & ~sets[2] & ~sets[3];
}

const char *aj_procfs_check_walls(pid_t pid, pid_t init, size_t filters)
{
	/* Open the pidfd first, as in aj_procfs_open_child(). */
	cleanup_fd int pidfd = aj_pidfd_open(pid);
	cleanup_text struct proc_text status;
	read_of(&status, pid, "status");
	if (pidfd < 0 || !status.data)
		return "the runner's state cannot be read in /proc";
	if (last_number(status.data, "Tgid") != pid || last_number(status.data, "PPid") != init)
		return "a process that is not a child of the jail's init reports that it is the runner";
	const char *wrong = missing_wall(status.data, filters, false);
	return wrong || !aj_pidfd_ended(pidfd) ? wrong : "the runner has ended";
}

const char *aj_procfs_check_fork(pid_t pid, size_t filters)
{
	cleanup_text struct proc_text status;
	read_of(&status, pid, "status");
	return status.data ? missing_wall(status.data, filters, true) : "the runner's state cannot be read in /proc";
}

struct aj_process_info aj_procfs_process(pid_t tid)
{
	cleanup_text struct proc_text status;
	read_of(&status, tid, "status");
	if (!status.data)
		return (struct aj_process_info){ 0 };
	return (struct aj_process_info){ .process = last_number(status.data, "Tgid"),
		                         .parent = last_number(status.data, "PPid"),
		                         .inner = last_number(status.data, "NStgid"),
		                         .threads = last_number(status.data, "Threads") };
}

bool aj_procfs_is_ending(pid_t pid)
{
	enum { EXITING = 4 }; /* the kernel's PF_EXITING */
	unsigned flags;
	cleanup_text struct proc_text stat;
	read_of(&stat, pid, "stat");
	const char *after_name = stat.data ? strrchr(stat.data, ')') : NULL;
	return after_name && sscanf(after_name, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & EXITING;
}

int aj_procfs_open_child(pid_t pid, pid_t parent, struct aj_process_info *ret)
{
	/* Open the pidfd first: /proc then describes that process, or another one that got its number because it has ended. */
	cleanup_fd int pidfd = aj_pidfd_open(pid);
	*ret = pidfd < 0 ? (struct aj_process_info){ 0 } : aj_procfs_process(pid);
	bool is = ret->process == pid && ret->parent == parent && !aj_pidfd_ended(pidfd);
	return is ? aj_steal(&pidfd) : -1;
}

/* NULL when all memory that a copy could write is private; else the objection. */
static const char *shared_memory(const char *maps)
{
	for (const char *line = maps, *next; *line; line = next) {
		char rights[5], name[8] = "";
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		if (sscanf(line, "%*x-%*x %4s %*x %*x:%*x %*u%*[ ]%7[^\n]", rights, name) < 1)
			return "the memory of the session cannot be listed";
		/* Mappings of the read-only Python tree are harmless; any other shared mapping may become writable. */
		if (rights[3] == 's' && (rights[1] == 'w' || strncmp(name, "/usr/", 5) != 0))
			return "the session has a shared memory mapping, to which a copy would write too: use MAP_PRIVATE, or close the mapping";
	}
	return NULL;
}

const char *aj_procfs_why_not_copyable(pid_t pid)
{
	if (aj_procfs_process(pid).threads != 1)
		return "threads are running in the session, and a copy would lack them: join the threads in a snippet";
	cleanup_text struct proc_text maps;
	read_of(&maps, pid, "maps");
	return maps.data ? shared_memory(maps.data) : "the memory of the session cannot be listed";
}

void aj_procfs_unescape(char *text)
{
	char *to = text;
	for (const char *at = text; *at; at++) {
		if (at[0] == '\\' && at[1] && at[2] && at[3]) {
			*to++ = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 3;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
}
