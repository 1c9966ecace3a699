/* Variables of the environment that a policy or a request sets. */
#pragma once
#include <stdbool.h>

/* Does `entry`, NAME=value, look like a password, a token or a key? */
bool aj_env_secret(const char *entry);
