/* A walk over a tree of files, bounded in entries, depth and time. It follows no symlink and stays on one file system. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct aj_tree_walk {
	/* Called for each entry, a folder before what is in it. False: not into this folder. */
	bool (*visit)(struct aj_tree_walk *walk, int dir, const char *name, const struct stat *st);
	void *arg;
	uint64_t entries_max;
	int64_t until_us;
	/* The rest is the walk's. */
	bool incomplete; /* a bound was reached, or a folder could not be opened */
	uint64_t entries;
	dev_t dev;
	char path[PATH_MAX]; /* of the entry, below the folder */
	size_t path_bytes;
};

void aj_tree_walk(struct aj_tree_walk *walk, int folder);
