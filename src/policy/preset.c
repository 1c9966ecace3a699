/* The two policies that work without a file: `snippet` for exec, `command` for run.
 * It makes no Linux calls and reads nothing; files build on these defaults. */
#include <ctype.h>
#include <string.h>

#include "policy/policy.h"

/* Pure computation: no module here opens files, starts processes, evaluates text or reaches the interpreter. */
static const char *const snippet_imports[] = {
	"array",    "base64",     "binascii",  "bisect",      "calendar",    "cmath",    "collections", "collections.abc",
	"colorsys", "contextlib", "copy",      "csv",         "dataclasses", "datetime", "decimal",     "difflib",
	"enum",     "fractions",  "functools", "graphlib",    "hashlib",     "heapq",    "itertools",   "json",
	"math",     "numbers",    "queue",     "random",      "re",          "stat",     "statistics",  "string",
	"struct",   "textwrap",   "time",      "unicodedata", "zlib",        "zoneinfo",
};

static const struct aj_policy snippet = {
	.name = "snippet",
	.layer = true,
	.builtins = AJ_BUILTINS_STANDARD,
	.rootfs = "default",
	.uid = 1000,
	.enforce = AJ_ENFORCE_BEST_EFFORT,
	.wall_ms = 30000,
	.cpu_ms = 30000,
	.memory_bytes = 512 << 20,
	.pids = 32,
	.open_files = 64,
	.file_bytes = 64 << 20,
	.tmp_bytes = 64 << 20,
	.tmp_inodes = 4096,
	.source_bytes = 1 << 20,
	.capture_bytes = 64 << 10,
	.output_bytes = 64 << 20,
	.result_bytes = 4 << 20,
};

static const struct aj_policy command = {
	.name = "command",
	.builtins = AJ_BUILTINS_FULL,
	.rootfs = "host",
	.proc = true,
	.exec = true,
	.fork = true,
	.uid = 1000,
	.enforce = AJ_ENFORCE_BEST_EFFORT,
	.pids = 512,
	.open_files = 1024,
	.tmp_bytes = 1 << 30,
	.tmp_inodes = 262144,
	.capture_bytes = 1 << 20,
	.output_bytes = 1 << 30,
};

bool aj_policy_preset(struct aj_policy *policy, struct aj_arena *arena, const char *name)
{
	if (strcmp(name, "snippet") == 0) {
		*policy = snippet;
		for (size_t i = 0; i < sizeof snippet_imports / sizeof *snippet_imports; i++)
			*AJ_PUSH(arena, &policy->imports) = snippet_imports[i];
		return true;
	}
	if (strcmp(name, "command") == 0) {
		*policy = command;
		return true;
	}
	return false;
}

static const char *const network_names[] = {
	[AJ_NET_NONE] = "none",
	[AJ_NET_LOOPBACK] = "loopback",
	[AJ_NET_ALLOW] = "allow",
	[AJ_NET_HOST] = "host",
};
static const char *const builtins_names[] = {
	[AJ_BUILTINS_MINIMAL] = "minimal",
	[AJ_BUILTINS_STANDARD] = "standard",
	[AJ_BUILTINS_FULL] = "full",
};

static int find(const char *const *names, int count, const char *text)
{
	for (int i = 0; i < count; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	return -1;
}

const char *aj_network_name(enum aj_network network)
{
	return network_names[network];
}

const char *aj_builtins_name(enum aj_builtins builtins)
{
	return builtins_names[builtins];
}

bool aj_network_parse(const char *text, enum aj_network *ret)
{
	int i = find(network_names, 4, text);
	if (i >= 0)
		*ret = (enum aj_network)i;
	return i >= 0;
}

bool aj_builtins_parse(const char *text, enum aj_builtins *ret)
{
	int i = find(builtins_names, 3, text);
	if (i >= 0)
		*ret = (enum aj_builtins)i;
	return i >= 0;
}

bool aj_import_pattern_valid(const char *text)
{
	bool part_start = true;
	if (strlen(text) > 200)
		return false;
	for (const char *c = text; *c; c++) {
		if (part_start && *c == '*')
			return c != text && c[1] == '\0';
		if (part_start ? !(isalpha((unsigned char)*c) || *c == '_') : !(isalnum((unsigned char)*c) || *c == '_' || *c == '.'))
			return false;
		part_start = *c == '.';
	}
	return !part_start;
}
