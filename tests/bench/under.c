/* under WHICH PROGRAM...: executes it under a filter of ours, or of an administrator who has forbidden the supervisor to take descriptors.
 * It stands in for what is above a jail, or below its program; it watches nothing. */
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy/seccomp/compile.h"

int main(int argc, char **argv)
{
	const struct sock_filter no_taking[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct aj_filter filter = { no_taking, sizeof no_taking / sizeof *no_taking };
	if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 2;
	if (strcmp(argv[1], "baseline") == 0)
		filter = *aj_filter_stage(AJ_STAGE_BASELINE);
	else if (strcmp(argv[1], "allow") == 0)
		filter = (struct aj_filter){ no_taking + 3, 1 };
	struct sock_fprog program = { .len = filter.count, .filter = (struct sock_filter *)filter.insns };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return 3;
	execv(argv[2], argv + 2);
	return 127;
}
