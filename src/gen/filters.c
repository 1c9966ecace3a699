/* Build-time tool: prints the compiled filter of every profile and network, of every stage of a snippet and of every group that
 * can be denied, as C; and the names of all system calls.
 * It is not part of the launcher and runs with the builder's rights only. */
#include <stdio.h>

#include "base/error.h"
#include "policy/plan/is_allowed.h"
#include "policy/seccomp/compile.h"
#include "policy/seccomp/syscalls.h"

enum { NETWORKS = AJ_NET_HOST + 1, ROOM = 4096 };

static struct sock_filter insns[ROOM];

/* `count`: the return value of compiling into `insns`. */
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

static void print_names(void)
{
	char name[sizeof aj_syscall_names[0]];
	printf("\nconst char aj_syscall_names[AJ_SYSCALL_NUMBERS][24] = {\n");
	for (int nr = 0; nr < AJ_SYSCALL_NUMBERS; nr++)
		if (aj_syscall_name(nr, name, sizeof name) == 0)
			printf("\t[%d] = \"%s\",\n", nr, name);
	printf("};\n");
}

int main(void)
{
	struct aj_error err = { 0 };
	printf("/* Generated from policy/seccomp/syscalls.c by gen/filters.c. */\n"
	       "#include \"policy/seccomp/compile.h\"\n\n#include \"policy/seccomp/syscalls.h\"\n\n");
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++)
			if (print_filter("filter", p, n,
			                 aj_filter_compile((enum aj_profile)p, (enum aj_network)n, insns, ROOM, &err), &err) < 0)
				return 1;
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		if (print_filter("zygote", p, 0, aj_filter_compile_zygote((enum aj_profile)p, insns, ROOM, &err), &err) < 0)
			return 1;
	for (int s = 0; s < AJ_STAGES; s++)
		if (print_filter("stage", s, 0, aj_filter_compile_stage((enum aj_stage)s, insns, ROOM, &err), &err) < 0)
			return 1;
	for (int g = 0; g < AJ_FILTER_GROUPS; g++)
		if (print_filter("denied", g, 0, aj_filter_compile_denied(1ULL << g, insns, ROOM, &err), &err) < 0)
			return 1;
	if (print_filter("relay", 0, 0, aj_filter_compile_relay(insns, ROOM, &err), &err) < 0)
		return 1;
	printf("static const struct aj_filter relay = { relay_0_0, sizeof relay_0_0 / sizeof(struct sock_filter) };\n");
	printf("static const struct aj_filter ready[%d][%d] = {\n", AJ_PROFILE_COUNT, NETWORKS);
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++) {
			printf("\t[%d][%d] = { filter_%d_%d, ", p, n, p, n);
			printf("sizeof filter_%d_%d / sizeof(struct sock_filter) },\n", p, n);
		}
	printf("};\nstatic const struct aj_filter zygotes[%d] = {\n", AJ_PROFILE_COUNT);
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		printf("\t[%d] = { zygote_%d_0, sizeof zygote_%d_0 / sizeof(struct sock_filter) },\n", p, p, p);
	printf("};\nstatic const struct aj_filter stages[%d] = {\n", AJ_STAGES);
	for (int s = 0; s < AJ_STAGES; s++)
		printf("\t[%d] = { stage_%d_0, sizeof stage_%d_0 / sizeof(struct sock_filter) },\n", s, s, s);
	printf("};\nstatic const struct aj_filter denied[%d] = {\n", AJ_FILTER_GROUPS);
	for (int g = 0; g < AJ_FILTER_GROUPS; g++)
		printf("\t[%d] = { denied_%d_0, sizeof denied_%d_0 / sizeof(struct sock_filter) },\n", g, g, g);
	printf("};\n\nconst struct aj_filter *aj_filter_ready(enum aj_profile profile, enum aj_network network)\n"
	       "{\n\treturn &ready[profile][network];\n}\n\n"
	       "const struct aj_filter *aj_filter_zygote(enum aj_profile profile)\n{\n\treturn &zygotes[profile];\n}\n\n"
	       "const struct aj_filter *aj_filter_relay(void)\n{\n\treturn &relay;\n}\n\n"
	       "const struct aj_filter *aj_filter_stage(enum aj_stage stage)\n{\n\treturn &stages[stage];\n}\n\n"
	       "const struct aj_filter *aj_filter_denied(uint64_t group)\n"
	       "{\n\treturn &denied[__builtin_ctzll(group)];\n}\n");
	print_names();
	return 0;
}
