/* Keeps the history of `agentjail session` in a file of mode 0600.
 * Where the file cannot be opened there is no history, and no error; a file of another user is not used. */
#include "cli/shell/line_history.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/host/own_folders.h"

enum { MOST_BYTES = 1 << 20, CUT_BYTES = 256 << 10 };

int aj_history_open(void)
{
	struct stat st;
	cleanup_fd int folder = aj_state_folder(NULL, true);
	cleanup_fd int fd = openat(folder, "history", O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return -1;
	if ((st.st_mode & 077) && fchmod(fd, 0600) < 0)
		return -1;
	return aj_steal(&fd);
}

char **aj_history_read(int fd, struct aj_arena *arena)
{
	static char *none[] = { NULL };
	struct stat st;
	if (fstat(fd, &st) < 0)
		return none;
	off_t from = st.st_size > MOST_BYTES ? st.st_size - MOST_BYTES : 0;
	char *text = aj_alloc(arena, MOST_BYTES + 1);
	ssize_t bytes = pread(fd, text, MOST_BYTES, from);
	if (bytes <= 0)
		return none;
	if (from > 0) { /* skip the first line, which is cut */
		size_t part = strcspn(text, "\n") + 1;
		text += part < (size_t)bytes ? part : (size_t)bytes;
	}
	AJ_LIST(char *) lines = { 0 };
	for (char *line = text; *line;) {
		size_t length = strcspn(line, "\n");
		*AJ_PUSH(arena, &lines) = line;
		bool more = line[length] == '\n';
		line[length] = '\0';
		line += length + more;
	}
	char **last = lines.items;
	size_t count = lines.count;
	if (!count)
		return none;
	if (count > AJ_HISTORY_LINES) {
		last += count - AJ_HISTORY_LINES;
		count = AJ_HISTORY_LINES;
	}
	if (st.st_size > CUT_BYTES && ftruncate(fd, 0) == 0)
		for (size_t i = 0; i < count; i++)
			aj_history_add(fd, last[i]);
	char **all = aj_alloc(arena, (count + 1) * sizeof *all);
	memcpy(all, last, count * sizeof *all);
	return all;
}

void aj_history_add(int fd, const char *line)
{
	/* One write, so that the lines of two sessions never mix. */
	struct aj_arena arena = { 0 };
	const char *text = aj_printf(&arena, "%s\n", line);
	if (fd >= 0 && *line)
		aj_write_all(fd, text, strlen(text));
	aj_arena_free(&arena);
}
