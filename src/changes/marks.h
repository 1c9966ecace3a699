/* Marks of paths of a run's changes: a path that was applied or discarded is settled, and is no change any more; a path that an apply took
 * back is known to have a time of change that is our doing, and not the host's. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct aj_mark {
	char sum[64];       /* SHA-256 of the path, in hex */
	long long ctime_ns; /* 0: settled */
};

struct aj_marks {
	struct aj_mark *items; /* sorted */
	size_t count;
};

int aj_marks_read(struct aj_marks *marks, int dir); /* -1 with errno */
void aj_marks_free(struct aj_marks *marks);
bool aj_marks_settled(const struct aj_marks *marks, const char *path);
bool aj_marks_ours(const struct aj_marks *marks, const char *path, long long ctime_ns);

/* New marks, appended to the file by aj_marks_save(). */
void aj_marks_set(struct aj_mark *mark, const char *path, long long ctime_ns);
int aj_marks_append(int fd, const struct aj_mark *marks, size_t count); /* -1 with errno */
int aj_marks_open(int dir);                                             /* for aj_marks_append(); -1 with errno */
