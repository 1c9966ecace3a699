/* Copies and compares the content of regular files, one of which a hostile program may change meanwhile.
 * It allocates nothing, so that a child of a process with threads may use it, and stops after the requested number of bytes. */
#include "base/tree/content.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 32 << 10 };

/* Where the next data begins at or after `at`; `end` where only a hole follows. */
static off_t next_data(int fd, off_t at, off_t end)
{
	off_t data = lseek(fd, at, SEEK_DATA);
	return data >= 0 ? data : errno == ENXIO ? end : at;
}

/* Where the data at `at` ends, at the latest at `end`. */
static off_t next_hole(int fd, off_t at, off_t end)
{
	off_t hole = lseek(fd, at, SEEK_HOLE);
	return hole > at && hole < end ? hole : end;
}

static ssize_t read_chunk(int fd, char chunk[CHUNK], off_t at, off_t end)
{
	return pread(fd, chunk, end - at < CHUNK ? (size_t)(end - at) : CHUNK, at);
}

/* Copy some of the bytes at `at`. Returns their number; 0 at the end of `from`; -1 with errno. */
static ssize_t copy_some(int from, int to, off_t at, off_t end)
{
	char chunk[CHUNK];
	off_t in = at, out = at;
	ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - at), 0);
	if (n > 0 || (n < 0 && errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS))
		return n;
	n = read_chunk(from, chunk, at, end); /* also after 0: on some file systems the call copies nothing of a file with data */
	return n > 0 ? pwrite(to, chunk, (size_t)n, at) : n;
}

int aj_content_copy(int from, int to, off_t bytes, uint64_t *left)
{
	bool whole = true, shared = bytes > 0 && ioctl(to, FICLONE, from) == 0;
	struct stat st;
	for (off_t at = shared ? bytes : next_data(from, 0, bytes); at < bytes && whole; at = next_data(from, at, bytes))
		for (off_t end = next_hole(from, at, bytes); at < end && whole;) {
			if (left && *left < (uint64_t)(end - at))
				end = at + (off_t)*left;
			ssize_t n = at < end ? copy_some(from, to, at, end) : 0;
			if (n < 0)
				return -1;
			whole = n > 0;
			at += n;
			if (left)
				*left -= (uint64_t)n;
		}
	return ftruncate(to, bytes) < 0 || fstat(from, &st) < 0 ? -1 : !whole || st.st_size < bytes;
}

int aj_content_same(int a, int b, off_t bytes)
{
	char one[CHUNK], two[CHUNK];
	for (off_t at = 0; at < bytes;) {
		off_t data_a = next_data(a, at, bytes), data_b = next_data(b, at, bytes);
		at = data_a < data_b ? data_a : data_b;
		if (at >= bytes)
			break;
		ssize_t n = read_chunk(a, one, at, bytes), m = read_chunk(b, two, at, bytes);
		if (n < 0 || m < 0)
			return -1;
		if (n != m || n == 0 || memcmp(one, two, (size_t)n) != 0)
			return 0;
		at += n;
	}
	return 1;
}
