/* Tests of the default policies, their names and the patterns of imports.
 * The numbers of a preset are not repeated here: the golden plans show them. */
#include <criterion/criterion.h>
#include <string.h>

#include "policy/item_types.h"
#include "policy/load/load.h"
#include "policy/policy.h"

Test(policy, presets)
{
	struct aj_arena arena = { 0 };
	struct aj_policy p;
	cr_assert(aj_policy_preset(&p, &arena, "snippet"));
	cr_expect_str_eq(p.name, "snippet");
	cr_expect(p.layer && p.builtins == AJ_BUILTINS_STANDARD && aj_policy_profile(&p) == AJ_PROFILE_SNIPPET);
	cr_expect(p.network == AJ_NET_NONE && strcmp(p.rootfs, "host") != 0 && !p.proc);
	cr_expect(p.wall_ms && p.cpu_ms && p.memory_bytes && p.pids && p.tmp_bytes && p.output_bytes && p.result_bytes,
	          "a snippet without a limit");
	cr_assert(aj_policy_preset(&p, &arena, "command"));
	cr_expect_str_eq(p.name, "command");
	cr_expect(aj_policy_profile(&p) == AJ_PROFILE_COMMAND && p.network == AJ_NET_NONE && strcmp(p.rootfs, "host") == 0);
	cr_expect_eq(p.imports.count, 0);
	cr_expect_not(aj_policy_preset(&p, &arena, "Snippet"));
	cr_expect_not(aj_policy_preset(&p, &arena, ""));
	aj_arena_free(&arena);
}

/* Modules that start processes, open sockets, or run text unchecked are in no default list. Of the others that reach far, agent code sees a
 * part (guest/layer/rail/shown.py), and those for files open what open() may (guest/layer/files). */
Test(policy, default_imports_are_harmless)
{
	static const char *const never[] = { "subprocess",      "socket",   "ctypes",         "marshal",     "code",
		                             "multiprocessing", "signal",   "urllib.request", "http.client", "ssl",
		                             "runpy",           "posix",    "mmap",           "fcntl",       "pdb",
		                             "trace",           "linecache" };
	struct aj_arena arena = { 0 };
	struct aj_policy p;
	aj_policy_preset(&p, &arena, "snippet");
	cr_expect_gt(p.imports.count, 20);
	for (size_t i = 0; i < p.imports.count; i++) {
		const char *name = p.imports.items[i];
		cr_expect(aj_import_pattern_valid(name), "`%s`", name);
		for (size_t j = 0; j < sizeof never / sizeof *never; j++) {
			size_t bytes = strlen(never[j]);
			cr_expect(strncmp(name, never[j], bytes) != 0 || (name[bytes] != '\0' && name[bytes] != '.'), "`%s`", name);
		}
		for (size_t j = 0; j < i; j++)
			cr_expect_str_neq(name, p.imports.items[j]);
	}
	aj_arena_free(&arena);
}

Test(policy, presets_do_not_share_their_lists)
{
	struct aj_arena arena = { 0 };
	struct aj_policy a, b;
	aj_policy_preset(&a, &arena, "snippet");
	aj_policy_preset(&b, &arena, "snippet");
	size_t before = b.imports.count;
	*AJ_PUSH(&arena, &a.imports) = "numpy";
	a.imports.items[0] = "changed";
	cr_expect_eq(b.imports.count, before);
	cr_expect_str_neq(b.imports.items[0], "changed");
	aj_arena_free(&arena);
}

Test(policy, import_patterns)
{
	static const char *const good[] = { "numpy", "numpy.*", "a.b.c", "a.b.*", "_private", "_", "Mixed9", "x1.y2" };
	static const char *const bad[] = { "",    "*",    ".",    "a.",  ".a",       "a..b",      "a.*.b", "a*",
		                           "*.a", "a.**", "a.*x", "1a",  "a.1",      "a-b",       "a b",   " a",
		                           "a\n", "a/b",  "a,b",  "a;b", "\xc3\xa9", "a.\xc3\xa9" };
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect(aj_import_pattern_valid(good[i]), "`%s` refused", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_not(aj_import_pattern_valid(bad[i]), "`%s` accepted", bad[i]);
	char name[202];
	memset(name, 'a', sizeof name);
	name[201] = '\0';
	cr_expect_not(aj_import_pattern_valid(name), "201 characters");
	name[200] = '\0';
	cr_expect(aj_import_pattern_valid(name), "200 characters");
}
