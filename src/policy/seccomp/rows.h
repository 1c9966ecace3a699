/* The notation of the tables of system calls: conditions on arguments, and the reason of a refusal with its advice. */
#pragma once
#include "policy/seccomp/syscalls.h"

#define LOW32 0xffffffffu
#define ARG(index_, mask_, value_)                                    \
	{                                                             \
		.index = (index_), .mask = (mask_), .value = (value_) \
	}
#define IS(index_, value_) ARG(index_, LOW32, value_)
#define REASON(...) REASON_(__VA_ARGS__)
#define REASON_(why_, instead_) .why = why_, .instead = instead_
