/* Plans and runs a request again without an optional feature whose set-up failed. */
#pragma once
#include "base/arena.h"
#include "jail/once.h"

struct aj_fallback {
	struct aj_arena *arena;   /* of later plans */
	struct aj_policy *policy; /* gets the values that took effect */
	struct aj_host *host;     /* loses what cannot be used */
	const struct aj_request *request;
	bool keep_overlay; /* the caller or a lock has chosen it */
	/* Another plan will run, and `cause` is why. May be NULL. */
	void (*on_replan)(void *arg, const struct aj_plan *plan, const struct aj_error *cause);
	void *arg;
};

/* aj_run_once() with `plan`, and again with other plans if that helps. Returns the result's plan: `plan`, or one in the arena. */
const struct aj_plan *aj_run_with_fallback(const struct aj_fallback *fallback, const struct aj_plan *plan,
                                           const struct aj_once_events *events, struct aj_result *ret);
