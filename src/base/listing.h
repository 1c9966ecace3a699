/* Lists the entries of a folder, and distinguishes an error from the end, since readdir(3) returns NULL for both. */
#pragma once
#include <dirent.h>

struct aj_listing {
	DIR *dir;  /* NULL: the folder cannot be opened, or was closed */
	int error; /* errno of opening or reading it: entries are missing then */
};
#define cleanup_listing __attribute__((cleanup(aj_listing_close)))

/* The folder at `path`; symlinks are followed. */
struct aj_listing aj_listing_open(const char *path);
/* Takes the descriptor; where it is -1, errno says why. */
struct aj_listing aj_listing_take(int fd);
/* The next entry other than `.` and `..`; NULL at the end, and where `error` is set. */
const struct dirent *aj_listing_next(struct aj_listing *listing);
/* Keeps errno. */
void aj_listing_close(struct aj_listing *listing);
