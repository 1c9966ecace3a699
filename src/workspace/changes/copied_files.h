/* The list of the files that a copy of a workspace was made from. The supervisor wrote it before the run: one line for each file
 * and folder,
 *
 *   TYPE MODE SIZE MTIME CTIME INODE PATH
 *
 * where TYPE is f, d or l, MODE is octal, times are nanoseconds, and PATH has `\\` for a backslash and `\n` for a newline. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aj_base_entry {
	char type;
	unsigned mode;
	uint64_t bytes;
	int64_t mtime_ns, ctime_ns;
	uint64_t ino;
};

struct aj_base_line {
	uint64_t hash, at; /* of the path; where the line begins */
};

struct aj_base {
	int fd;
	struct aj_base_line *lines; /* sorted by hash */
	size_t count;
};

/* Takes `fd` over. -1 with errno (EINVAL: not such a list). */
int aj_base_read(struct aj_base *base, int fd);
bool aj_base_find(const struct aj_base *base, const char *path, struct aj_base_entry *ret);
void aj_base_free(struct aj_base *base);
/* One line without its newline; `path` holds as many bytes as the line. False: invalid. */
bool aj_base_line(const char *line, size_t bytes, struct aj_base_entry *ret, char *path);
