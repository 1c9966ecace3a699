/* Tells variables that look like secrets by the words of their names and the beginnings of their values.
 * It is a guess, for warnings and for printed plans: no wall depends on it. */
#include "policy/env.h"

#include <stddef.h>
#include <string.h>

bool aj_env_secret(const char *entry)
{
	static const char *const words[] = { "SECRET", "TOKEN",      "PASSWORD",    "PASSWD",     "API_KEY",
		                             "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL", "_KEY" };
	static const char *const prefixes[] = { "sk-",   "ghp_",   "gho_", "github_pat_", "AKIA",      "xoxb-",
		                                "xoxp-", "glpat-", "hf_",  "eyJ",         "-----BEGIN" };
	const char *value = strchr(entry, '=') + 1;
	bool secret = false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *word = strcasestr(entry, words[i]);
		secret |= *value && word && word < value;
	}
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		secret |= strncmp(value, prefixes[i], strlen(prefixes[i])) == 0;
	return secret;
}
