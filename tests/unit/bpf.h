/* A BPF interpreter of our own: what would the kernel answer to this call under that filter?
 * It knows what a seccomp filter may use and fails the test on anything else. */
#pragma once
#include <criterion/criterion.h>
#include <linux/seccomp.h>
#include <string.h>

#include "policy/seccomp/compile.h"

static inline uint32_t load(const struct seccomp_data *data, uint32_t at)
{
	uint32_t word = 0;
	cr_assert(at % 4 == 0 && at <= sizeof *data - 4, "load at %u", at);
	memcpy(&word, (const char *)data + at, sizeof word);
	return word;
}

/* clang-format off: an instruction a line */

/* The part of classic BPF that a seccomp filter may use: aligned loads, ALU on a constant, jumps forward, return. */
static inline uint32_t interpret(const struct aj_filter *f, const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, mem[16] = { 0 };
	for (size_t pc = 0; pc < f->count; pc++) {
		const struct sock_filter *i = &f->insns[pc];
		uint32_t other = BPF_SRC(i->code) == BPF_X ? x : i->k;
		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			a = BPF_MODE(i->code) == BPF_ABS ? load(data, i->k)
			  : BPF_MODE(i->code) == BPF_IMM ? i->k
			  : BPF_MODE(i->code) == BPF_LEN ? (uint32_t)sizeof *data
			                                 : mem[i->k & 15];
			break;
		case BPF_LDX:
			x = BPF_MODE(i->code) == BPF_IMM ? i->k : mem[i->k & 15];
			break;
		case BPF_ST:
			mem[i->k & 15] = a;
			break;
		case BPF_STX:
			mem[i->k & 15] = x;
			break;
		case BPF_ALU:
			switch (BPF_OP(i->code)) {
			case BPF_AND:
				a &= other;
				break;
			case BPF_OR:
				a |= other;
				break;
			case BPF_ADD:
				a += other;
				break;
			case BPF_SUB:
				a -= other;
				break;
			case BPF_RSH:
				a >>= other & 31;
				break;
			case BPF_LSH:
				a <<= other & 31;
				break;
			default:
				cr_assert_fail("instruction %zu: ALU %#x", pc, i->code);
			}
			break;
		case BPF_JMP: {
			bool yes = true;
			switch (BPF_OP(i->code)) {
			case BPF_JA:
				pc += i->k;
				continue;
			case BPF_JEQ:
				yes = a == other;
				break;
			case BPF_JGT:
				yes = a > other;
				break;
			case BPF_JGE:
				yes = a >= other;
				break;
			case BPF_JSET:
				yes = (a & other) != 0;
				break;
			default:
				cr_assert_fail("instruction %zu: jump %#x", pc, i->code);
			}
			pc += yes ? i->jt : i->jf;
			break;
		}
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? a : i->k;
		case BPF_MISC:
			*(BPF_MISCOP(i->code) == BPF_TAX ? &x : &a) = BPF_MISCOP(i->code) == BPF_TAX ? a : x;
			break;
		}
	}
	cr_assert_fail("the filter ends without an answer");
	return 0;
}
/* clang-format on */
