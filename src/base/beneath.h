/* Opens and examines files that a jail may have created: beneath a descriptor, without following symlinks or blocking. */
#pragma once
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/listing.h"

/* openat2(2) of an existing file: `resolve` (RESOLVE_*) says what its path may lead through. O_CLOEXEC is added. */
int aj_open_resolved(int dir, const char *path, int flags, uint64_t resolve);
/* Open `path`, relative to `dir` or, with AT_FDCWD, any path, through no symlink. O_CLOEXEC and O_NONBLOCK are added. */
int aj_beneath_open(int dir, const char *path, int flags);
/* Open `path` beneath `dir`, through no symlink and into no other mount: for trees that a hostile process changes meanwhile. A
 * new file gets the mode 0644. */
int aj_beneath_open_here(int dir, const char *path, int flags);
/* List a folder, relative to `dir`, through no symlink. */
struct aj_listing aj_beneath_list(int dir, const char *path);
/* Does an entry of this name exist? */
bool aj_beneath_has(int dir, const char *name);
/* Does `uid` own the folder? Then its mode may deny access now and allow access a moment later. */
bool aj_beneath_owned(int dir, uid_t uid);
/* Is the folder the root of a mounted tmpfs that belongs to `uid`? */
bool aj_beneath_is_tmpfs_of(int dir, uid_t uid);
/* Is the folder on a file system that counts subfolders in a folder's links (two plus one for each), and that updates ctime with
 * each change of the entries? `*ret_dev`: that file system. */
bool aj_beneath_tells_changes(int dir, dev_t *ret_dev);
