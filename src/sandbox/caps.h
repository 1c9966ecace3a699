/* Drops all capabilities of the calling process; none can be kept. */
#pragma once
#include <linux/securebits.h>

#include "base/error.h"

/* User id 0 grants no capabilities either, permanently. */
enum {
	AJ_SECUREBITS = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
	                SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED
};
/* The kernel keeps a set in 64 bits. */
enum { AJ_CAPS_MAX = 64 };

/* Empty the bounding, ambient, inheritable, permitted and effective sets and lock securebits. */
int aj_caps_drop_all(struct aj_error *err);
/* Empty the ambient, inheritable, permitted and effective sets. Needs no capability. For a process that runs no other program. */
int aj_caps_empty(struct aj_error *err);
