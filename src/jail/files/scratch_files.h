/* Reads, lists and removes files of a live jail's scratch space (/tmp, /input, /output), which the jail may change meanwhile. */
#pragma once
#include <jansson.h>
#include <stdint.h>

#include "jail/files/scratch.h"

/* Of one answer. */
enum { AJ_SCRATCH_READ_MAX = 1 << 20, AJ_SCRATCH_LIST_MAX = 1000 };

/* A part of a regular file from `offset` on, at most `most` bytes and AJ_SCRATCH_READ_MAX: {"size", "media_type", "offset",
 * "data", "sha256" of the part, "end"}. NULL with err. */
json_t *aj_scratch_read(const struct aj_scratch *scratch, const char *path, uint64_t offset, uint64_t most, struct aj_error *err);
/* The bytes alone, as many as fit: their number, 0 at or behind the file's end. -1 with err. */
ssize_t aj_scratch_read_bytes(const struct aj_scratch *scratch, const char *path, uint64_t offset, void *buffer, size_t bytes,
                              struct aj_error *err);
/* The entries of a folder, unsorted: {"files": [{"name", "type", "size"}], "truncated"}. `truncated`: names that cannot be shown
 * to a caller are left out. NULL with err. */
json_t *aj_scratch_list(const struct aj_scratch *scratch, const char *path, struct aj_error *err);
/* Remove a file, a link or an empty folder; -1 with err. */
int aj_scratch_remove(const struct aj_scratch *scratch, const char *path, struct aj_error *err);
