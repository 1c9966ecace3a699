/* The folders below the caller's state folder in which homes are kept. For kept.c and list.c. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

#define AJ_KEPT_FOLDER "homes"
#define AJ_KEPT_HOME "home"
#define AJ_KEPT_RECORD "record.json"
#define AJ_KEPT_LOCK "lock"

/* The path of the folder of all homes; NULL with err: the caller has no home. */
const char *aj_kept_root(struct aj_arena *arena, struct aj_error *err);
/* aj_state_go_down(), with err; without err where the folder is missing and not to be made. */
int aj_kept_go_down(int *dir, const char *name, bool make, struct aj_error *err);
