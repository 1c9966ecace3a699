/* What runner and supervisor agree on about a branch; the kernel is between them. */
#pragma once

/* CLONE_NEWUSER | CLONE_NEWNS | CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID: a process with memory of its own (no
 * CLONE_VM), a child of the jail's init, in the jail's namespaces but for these two. Flags in a register, so nothing to change meanwhile. */
#define AJ_BRANCH_FLAGS 0x11228000UL
