/* Marks of paths of a run's changes. Applied or discarded paths are settled and no longer changes. For a path that an apply
 * restored, the new ctime is known to be ours. An original is the content of the workspace's file at the end of the run:
 * rewriting it is not a conflict. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct aj_mark {
	char sum[64];       /* SHA-256 of the path, in hex; of an original: of permissions, content and path */
	long long stamp_ns; /* our ctime in the workspace; negative: ctime of the settled change in the view; 0: a conflict, or an
	                       original */
};

struct aj_marks {
	struct aj_mark *items; /* sorted */
	size_t count;
};

/* Their files in the state folder. */
#define AJ_MARKS_FILE "marks"
#define AJ_ORIGINALS_FILE "originals"
int aj_marks_read(struct aj_marks *marks, int dir, const char *file); /* -1 with errno */
void aj_marks_free(struct aj_marks *marks);
/* Is there a mark like this one? */
bool aj_marks_has(const struct aj_marks *marks, const struct aj_mark *wanted);
/* `view_ns`: the time of change in the view, 0 where it has nothing there: a later run that continues in the same view unsettles
 * what it changes. */
bool aj_marks_settled(const struct aj_marks *marks, const char *path, long long view_ns);
bool aj_marks_ours(const struct aj_marks *marks, const char *path, long long ctime_ns);
/* The host had changed the path before a later run continued with the changes; the start time of that run does not show it. */
bool aj_marks_conflict(const struct aj_marks *marks, const char *path);
/* Whether the file had these permissions and this content (SHA-256) at the end of the run. */
bool aj_marks_original(const struct aj_marks *marks, const char *path, unsigned mode, const char *content);

/* New marks, appended to the file by aj_marks_append(). */
void aj_marks_set_settled(struct aj_mark *mark, const char *path, long long view_ns);
void aj_marks_set_ours(struct aj_mark *mark, const char *path, long long ctime_ns);
void aj_marks_set_conflict(struct aj_mark *mark, const char *path);
void aj_marks_set_original(struct aj_mark *mark, const char *path, unsigned mode, const char *content);
int aj_marks_append(int fd, const struct aj_mark *marks, size_t count);   /* -1 with errno */
int aj_marks_open(int dir, const char *file);                             /* for aj_marks_append(); -1 with errno */
int aj_marks_replace(int dir, const struct aj_mark *marks, size_t count); /* these and no others, at once; -1 with errno */
