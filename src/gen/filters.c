/* Build-time tool: prints the compiled filter of every profile and network as C.
 * It is not part of the launcher and runs with the builder's rights only. */
#include <stdio.h>

#include "base/error.h"
#include "plan/syscalls.h"
#include "sandbox/seccomp.h"

enum { NETWORKS = AJ_NET_HOST + 1, ROOM = 4096 };

int main(void)
{
	static struct sock_filter insns[ROOM];
	printf("/* Generated from plan/syscalls.c by gen/filters.c. */\n#include \"sandbox/seccomp.h\"\n\n");
	for (int p = 0; p < AJ_PROFILE_COUNT; p++) {
		for (int n = 0; n < NETWORKS; n++) {
			struct aj_error err = { 0 };
			int count = aj_filter_compile((enum aj_profile)p, (enum aj_network)n, insns, ROOM, &err);
			if (count < 0) {
				char text[600];
				fprintf(stderr, "%s\n", aj_error_text(&err, text, sizeof text));
				return 1;
			}
			printf("static const struct sock_filter filter_%d_%d[] = {\n", p, n);
			for (int i = 0; i < count; i++)
				printf("\t{ %#x, %u, %u, %#x },\n", insns[i].code, insns[i].jt, insns[i].jf, insns[i].k);
			printf("};\n");
		}
	}
	printf("static const struct aj_filter ready[%d][%d] = {\n", AJ_PROFILE_COUNT, NETWORKS);
	for (int p = 0; p < AJ_PROFILE_COUNT; p++)
		for (int n = 0; n < NETWORKS; n++)
			printf("\t[%d][%d] = { filter_%d_%d, sizeof filter_%d_%d / sizeof(struct sock_filter) },\n", p, n, p, n, p, n);
	printf("};\n\nconst struct aj_filter *aj_filter_ready(enum aj_profile profile, enum aj_network network)\n"
	       "{\n\treturn &ready[profile][network];\n}\n");
	return 0;
}
