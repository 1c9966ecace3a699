/* A folder of the host shown through overlayfs: the same files, below inodes of the jail's own, read-only or with an upper layer.
 * So a connect to a socket, an open of a FIFO or a lock in this mount has no effect on the host's files. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

/* The lowerdir option as /proc/self/mountinfo shows it: it distinguishes these overlays from overlays of the host. */
#define AJ_OVERLAY_LAYERS ".:../none"

/* A detached mount that shows `source`, a detached mount with nothing mounted below it; -1 with errno where the kernel makes
 * none. `blanks` is the descriptor from aj_mask_blanks(). Changes the working directory. */
int aj_overlay(int blanks, int source);
/* The same with these MOUNT_ATTR_*, attached to the mount tree, so that single files and folders of the overlay can be cloned:
 * the clones have its attributes. */
int aj_overlay_attached(int blanks, int source, unsigned attributes);
/* A detached mount that shows `source` below an upper layer, which takes all changes: `layers`, a detached mount of a folder, has
 * the folders `upper` and `work`. `read_only`: it shows what the upper layer took earlier, and takes nothing. */
int aj_overlay_layered(int blanks, int source, int layers, bool read_only);
/* A detached mount of the entry at `path` in such an overlay, without following symlinks: a file or a folder. type: S_IFREG or
 * S_IFDIR, 0 for either, which is set to its own. -1 with errno. */
int aj_overlay_entry(int overlay, const char *path, mode_t *type);
