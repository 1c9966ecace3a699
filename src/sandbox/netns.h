/* The jail's own network namespace: loopback up, nothing else. */
#pragma once
#include "base/error.h"

int aj_netns_loopback_up(struct aj_error *err);
