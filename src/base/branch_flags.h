/* The clone flags of a branch: the runner passes them, the filter reports the call, and the supervisor compares them. */
#pragma once

/* CLONE_NEWUSER, CLONE_NEWNS, CLONE_PARENT, CLONE_CHILD_SETTID and CLONE_CHILD_CLEARTID: a process with memory of its own, a
 * child of the jail's init, in the jail's namespaces except these two. The flags are in a register, so no other thread can change
 * them after the check. */
#define AJ_BRANCH_FLAGS 0x11228000UL
