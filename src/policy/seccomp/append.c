/* Appends one filter to another: the second decides on calls that the first allows. Also linked into the generator of filters. */
#include <linux/seccomp.h>
#include <string.h>

#include "policy/seccomp/compile.h"

unsigned short aj_filter_append(struct sock_filter *out, size_t room, unsigned short count, const struct aj_filter *next)
{
	if ((size_t)count + next->count > room)
		return 0;
	for (unsigned short i = 0; i < count; i++)
		if (out[i].code == (BPF_RET | BPF_K) && out[i].k == SECCOMP_RET_ALLOW)
			out[i] = (struct sock_filter){ .code = BPF_JMP | BPF_JA, .k = (uint32_t)(count - i - 1) };
	memcpy(out + count, next->insns, next->count * sizeof *out);
	return (unsigned short)(count + next->count);
}
