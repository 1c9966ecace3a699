/* Build-time tool: prints the compiled filter of every profile and network, of every group that can be denied, and the names of
 * what they refuse, as C.
 * It is not part of the launcher and runs with the builder's rights only. */
#include <stdio.h>

#include "base/error.h"
#include "plan/syscalls.h"
#include "sandbox/seccomp.h"

enum { NETWORKS = AJ_NET_HOST + 1, ROOM = 4096 };

static struct sock_filter insns[ROOM];

/* `count` is what compiling into `insns` returned. */
static int print_filter(const char *kind, int a, int b, int count, const struct aj_error *err)
{
	char text[600];
	if (count < 0) {
		fprintf(stderr, "%s\n", aj_error_text(err, text, sizeof text));
		return -1;
	}
	printf("static const struct sock_filter %s_%d_%d[] = {\n", kind, a, b);
	for (int i = 0; i < count; i++)
		printf("\t{ %#x, %u, %u, %#x },\n", insns[i].code, insns[i].jt, insns[i].jf, insns[i].k);
	printf("};\n");
	return 0;
}

static struct {
	int nr;
	const char *name;
} refused[512];
static size_t refused_count;

static int note_refused(const struct aj_syscall *row, void *data)
{
	(void)data;
	int nr = row->errnum ? aj_filter_call_number(row->name) : -1;
	for (size_t i = 0; i < refused_count; i++)
		if (refused[i].nr == nr)
			return 0;
	if (nr < 0) /* exists on other architectures only */
		return 0;
	refused[refused_count].nr = nr;
	refused[refused_count++].name = row->name;
	return refused_count == sizeof refused / sizeof *refused;
}

static int print_names(void)
{
	int full = 0;
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++)
			full |= aj_syscalls_each((enum aj_profile)p, (enum aj_network)n, note_refused, NULL);
	for (int g = 0; g < AJ_DENY_GROUPS; g++)
		full |= aj_syscalls_denied_each(1ULL << g, note_refused, NULL);
	printf("const char *aj_filter_call_name(int nr)\n{\n\tswitch (nr) {\n");
	for (size_t i = 0; i < refused_count; i++)
		printf("\tcase %d:\n\t\treturn \"%s\";\n", refused[i].nr, refused[i].name);
	printf("\t}\n\treturn NULL;\n}\n");
	return full;
}

int main(void)
{
	struct aj_error err = { 0 };
	printf("/* Generated from plan/syscalls.c by gen/filters.c. */\n#include \"sandbox/seccomp.h\"\n\n");
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++)
			if (print_filter("filter", p, n,
			                 aj_filter_compile((enum aj_profile)p, (enum aj_network)n, insns, ROOM, &err), &err) < 0)
				return 1;
	for (int g = 0; g < AJ_DENY_GROUPS; g++)
		if (print_filter("denied", g, 0, aj_filter_compile_denied(1ULL << g, insns, ROOM, &err), &err) < 0)
			return 1;
	printf("static const struct aj_filter ready[%d][%d] = {\n", AJ_PROFILE_COUNT, NETWORKS);
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++)
			printf("\t[%d][%d] = { filter_%d_%d, sizeof filter_%d_%d / sizeof(struct sock_filter) },\n", p, n, p, n, p, n);
	printf("};\nstatic const struct aj_filter denied[%d] = {\n", AJ_DENY_GROUPS);
	for (int g = 0; g < AJ_DENY_GROUPS; g++)
		printf("\t[%d] = { denied_%d_0, sizeof denied_%d_0 / sizeof(struct sock_filter) },\n", g, g, g);
	printf("};\n\nconst struct aj_filter *aj_filter_ready(enum aj_profile profile, enum aj_network network)\n"
	       "{\n\treturn &ready[profile][network];\n}\n\n"
	       "const struct aj_filter *aj_filter_denied(uint64_t group)\n"
	       "{\n\treturn &denied[__builtin_ctzll(group)];\n}\n\n");
	return print_names();
}
