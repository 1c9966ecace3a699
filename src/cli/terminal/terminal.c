/* Decides which of our standard input, output and error a command gets, and restores their state after it.
 * It gives a command no terminal: the jail makes one of its own in its place (jail/pty/terminal_relay.h). */
#include "cli/terminal/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/pty/caller_terminal.h"

/* An ordinary user's jail has that user's id outside, and so may chmod the terminal. */
enum { OF_OTHERS = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH };
/* The flags that F_SETFL can change. */
enum { CHANGEABLE = O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME | O_NONBLOCK };
/* Bytes of a file in memory that are copied: the copy counts in none of the jail's limits. */
enum { COPIED_MAX = 64 << 20 };

/* Is it a terminal whose foreground process group is not ours? A background job must neither read its input nor set its modes. */
static bool is_foreign_terminal(int fd)
{
	pid_t foreground = isatty(fd) ? tcgetpgrp(fd) : -1;
	return foreground > 0 && foreground != getpgrp();
}

/* Is output copied instead of inherited? A holder of a file's descriptor can truncate the file and overwrite what others
 * appended; a second terminal, or one of the background, is never the jail's. */
static bool is_pumped(const struct aj_request *request, int fd, struct stat *st)
{
	return fstat(fd, st) == 0 && !(request->command.terminal & 1U << fd) && (S_ISREG(st->st_mode) || isatty(fd));
}

/* Reopen a file on 0 that is open for reading and writing as read-only, at the same offset; a write-only one is no input. */
static int reopen_read_only(struct aj_request *request, struct aj_error *err)
{
	struct stat st;
	int flags = fcntl(0, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fstat(0, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if ((flags & O_ACCMODE) == O_WRONLY) {
		request->command.no_input = true;
		return 0;
	}
	off_t at = lseek(0, 0, SEEK_CUR);
	cleanup_fd int fd = aj_fd_reopen(0, O_RDONLY | O_NOCTTY);
	if (fd >= 0 && lseek(fd, at, SEEK_SET) == at && dup2(fd, 0) == 0)
		return 0;
	aj_fail(err, AJ_EXIT_SETUP, "input", errno,
	        "standard input is a file that is open for writing too, and it cannot be reopened read-only");
	aj_advise(err, "open the file for reading only: `agentjail run ... <FILE`");
	return -1;
}

/* A file of memfd_create(2) is on no mount, so Landlock lets whoever has it open for reading open it for writing, too. If nothing
 * seals it, the command gets a sealed copy, at the same offset. */
static int copy_memory_file(struct aj_error *err)
{
	const int unchanging = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	char name[sizeof "/memfd:" + 300];
	struct stat st;
	int seals = fcntl(0, F_GET_SEALS);
	if (seals < 0 || (seals & unchanging) == unchanging || !aj_fd_path(0, name, sizeof name) ||
	    strncmp(name, "/memfd:", 7) != 0)
		return 0;
	off_t at = lseek(0, 0, SEEK_CUR), done = 0;
	cleanup_fd int copy = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ssize_t n = copy < 0 || fstat(0, &st) < 0 || st.st_size > COPIED_MAX ? -1 : 1;
	while (n > 0 && done <= COPIED_MAX)
		n = sendfile(copy, 0, &done, COPIED_MAX);
	if (n == 0 && done <= COPIED_MAX && lseek(copy, at, SEEK_SET) == at &&
	    fcntl(copy, F_ADD_SEALS, unchanging | F_SEAL_SEAL) == 0 && dup2(copy, 0) == 0)
		return 0;
	aj_fail(err, AJ_EXIT_SETUP, "input", 0,
	        "standard input is a file in memory that the command could write to, and it cannot be copied (at most %d MiB are)",
	        COPIED_MAX >> 20);
	aj_advise(err, "seal it (F_SEAL_WRITE, F_SEAL_SHRINK, F_SEAL_GROW), or give the command a file or a pipe");
	return -1;
}

/* Variables that describe the terminal and its person's language; the type first. */
static const char *const described[] = { "TERM",       "COLORTERM",    "LANG",           "LC_ALL",
	                                 "LC_CTYPE",   "LC_COLLATE",   "LC_MESSAGES",    "LC_NUMERIC",
	                                 "LC_TIME",    "LC_MONETARY",  "LC_PAPER",       "LC_NAME",
	                                 "LC_ADDRESS", "LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION" };

/* Only names, as they may stand in the databases of terminals and locales. */
static bool is_name(const char *value)
{
	size_t bytes = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+._@");
	return bytes && bytes <= 64 && value[bytes] == '\0' && !strstr(value, "..");
}

static void describe(struct aj_request *request, struct aj_arena *arena)
{
	for (size_t i = 0; i < sizeof described / sizeof *described; i++) {
		const char *value = getenv(described[i]);
		if (value && is_name(value))
			*AJ_PUSH(arena, &request->command.terminal_env) = aj_printf(arena, "%s=%s", described[i], value);
	}
}

/* The first of our standard descriptors that is a terminal, and in which we may read, is the one that the jail's terminal stands
 * for. */
static void choose_terminal(struct aj_request *request)
{
	request->command.terminal = 0;
	request->command.terminal_fd = -1;
	for (int fd = 0; fd <= (request->capture ? 0 : 2); fd++) {
		if (!isatty(fd) || is_foreign_terminal(fd))
			continue;
		if (request->command.terminal_fd < 0)
			request->command.terminal_fd = fd;
		if (aj_caller_same(fd, request->command.terminal_fd))
			request->command.terminal |= 1U << fd;
	}
	request->command.terminal_foreground = (request->command.terminal & 3) == 3;
}

int aj_terminal_choose(struct aj_request *request, struct aj_arena *arena, struct aj_error *err)
{
	struct stat as_out, as_err;
	request->command.no_input = is_foreign_terminal(0);
	if (reopen_read_only(request, err) < 0 || copy_memory_file(err) < 0)
		return -1;
	choose_terminal(request);
	bool pump_out = is_pumped(request, 1, &as_out), pump_err = is_pumped(request, 2, &as_err);
	request->command.pump = (pump_out ? AJ_PUMP_OUT : 0U) | (pump_err ? AJ_PUMP_ERR : 0U);
	if (pump_out && pump_err && as_out.st_dev == as_err.st_dev && as_out.st_ino == as_err.st_ino)
		request->command.pump |= AJ_PUMP_JOINED;
	if (request->command.terminal)
		describe(request, arena);
	return 0;
}

void aj_terminal_save(struct aj_terminal *saved)
{
	struct stat st;
	for (int fd = 2; fd >= 0; fd--) {
		saved->flags[fd] = fcntl(fd, F_GETFL);
		/* Neither a terminal nor a regular file as output is inherited, so the command cannot have changed their
		 * permissions. */
		bool given = fstat(fd, &st) == 0 && !isatty(fd) && (fd == 0 || !S_ISREG(st.st_mode));
		saved->closed[fd] = given ? ~st.st_mode & OF_OTHERS : 0;
	}
}

void aj_terminal_restore(const struct aj_terminal *saved)
{
	struct stat st;
	for (int fd = 0; fd <= 2; fd++) {
		int now = fcntl(fd, F_GETFL);
		if (now >= 0 && saved->flags[fd] >= 0 && ((now ^ saved->flags[fd]) & CHANGEABLE))
			fcntl(fd, F_SETFL, saved->flags[fd]);
		if (saved->closed[fd] && fstat(fd, &st) == 0 && (st.st_mode & saved->closed[fd]))
			fchmod(fd, st.st_mode & 07777 & ~saved->closed[fd]);
	}
}
