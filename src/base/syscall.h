/* System calls without libc: the kernel's return value, a negative errno on failure.
 * For code that shares its memory, and so libc's errno, with a process that runs at the same time. */
#pragma once
#include <errno.h>
#include <sys/syscall.h>

static inline long aj_syscall_raw(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long answer;
	__asm__ volatile("syscall"
	                 : "=a"(answer)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return answer;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#else
#error "how this machine makes a system call is not written here yet"
#endif
}

/* An answer of the kernel's as libc gives it: -1 with errno in place of a negative errno. */
static inline long aj_syscall_errno(long answer)
{
	if (answer >= 0)
		return answer;
	errno = (int)-answer;
	return -1;
}
