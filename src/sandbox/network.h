/* A cold jail's network namespace, made by the supervisor while init builds the jail: the kernel takes as long for it as for all
 * other namespaces together. */
#pragma once
#include <stdbool.h>

#include "policy/plan/plan.h"

/* Whether this plan's network namespace is made beside init. Else init is born in it. */
bool aj_network_beside(const struct aj_plan *plan);
/* A descriptor of a new network namespace that belongs to the user namespace `user_ns`. -1 with errno: init must be born in one;
 * where the reason stays, aj_network_beside() is false from then on. */
int aj_network_make(int user_ns);
/* For init, which was not born in its network namespace. -1 with errno. */
int aj_network_enter(int network);
