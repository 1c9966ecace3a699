/* A directory entry, as getdents64() returns it: for code that may not allocate, as readdir() does.
 * It has no function: the system call fills a buffer of the caller's. */
#pragma once
#include <stdint.h>

struct aj_dirent64 {
	uint64_t ino;
	int64_t off;
	unsigned short bytes; /* length of this entry */
	unsigned char type;
	char name[];
};
