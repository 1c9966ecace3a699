/* A directory entry as getdents64() returns it, for code that may not allocate memory, which readdir() does.
 * A struct only: the system call fills the caller's buffer. */
#pragma once
#include <stdint.h>

struct aj_dirent64 {
	uint64_t ino;
	int64_t off;
	unsigned short bytes; /* length of this entry */
	unsigned char type;
	char name[];
};
