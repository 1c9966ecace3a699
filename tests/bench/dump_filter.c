/* Writes the ready filter of commands to standard output, as the BPF program that other launchers take.
 * It is linked with the generated filters and compiles nothing, so that all of them run under the same instructions. */
#include <unistd.h>

#include "policy/seccomp/compile.h"

int main(void)
{
	const struct aj_filter *filter = aj_filter_ready(AJ_PROFILE_COMMAND, AJ_NET_NONE);
	size_t bytes = filter->count * sizeof *filter->insns;
	return write(1, filter->insns, bytes) == (ssize_t)bytes ? 0 : 1;
}
