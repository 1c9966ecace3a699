/* The jail's own network namespace: loopback up, nothing else. */
#pragma once
#include "base/error.h"

/* A new network namespace always numbers its loopback interface 1. */
enum { AJ_LOOPBACK_INDEX = 1 };

int aj_netns_loopback_up(struct aj_error *err);
