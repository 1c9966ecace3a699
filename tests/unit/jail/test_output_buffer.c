/* Tests of result/output_buffer: head, tail and the count between them, at every size around the cap.
 * It compares with a plain buffer that keeps everything; nothing is read from a guest. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jail/result/output_buffer.h"

static char pattern(size_t i)
{
	return (char)('!' + i % 89);
}

/* The text that output_buffer.h promises for `total` bytes under `cap`. */
static char *expected(size_t total, size_t cap)
{
	char *text = calloc(1, total + cap + 100);
	size_t head = total <= cap ? total : cap / 2, at = 0;
	for (size_t i = 0; i < head; i++)
		text[at++] = pattern(i);
	if (total > cap) {
		at += (size_t)sprintf(text + at, "\n[... %zu bytes omitted ...]\n", total - cap);
		for (size_t i = total - (cap - cap / 2); i < total; i++)
			text[at++] = pattern(i);
	}
	return text;
}

static void check(size_t total, size_t cap, size_t step)
{
	struct aj_output_buffer c = { .cap_bytes = cap };
	char *data = malloc(step ? step : 1);
	for (size_t at = 0; at < total;) {
		size_t n = total - at < step ? total - at : step;
		for (size_t i = 0; i < n; i++)
			data[i] = pattern(at + i);
		aj_output_buffer_add(&c, data, n);
		at += n;
	}
	size_t bytes = 99;
	char *text = aj_output_buffer_text(&c, &bytes), *want = expected(total, cap);
	cr_assert_not_null(text);
	cr_assert_str_eq(text, want, "%zu bytes under cap %zu, %zu at a time", total, cap, step);
	cr_assert_eq(bytes, strlen(want));
	cr_assert_eq(c.total_bytes, total);
	cr_assert_eq(aj_output_buffer_omitted(&c), total > cap ? total - cap : 0);
	free(text);
	free(want);
	free(data);
	aj_output_buffer_free(&c);
	cr_assert_eq(c.total_bytes, 0);
}

Test(capture, every_size_around_an_even_cap)
{
	for (size_t cap = 2; cap <= 16; cap += 2)
		for (size_t total = 0; total <= 4 * cap + 1; total++)
			for (size_t step = 1; step <= total + 1; step++)
				check(total, cap, step);
}

Test(capture, every_size_around_an_odd_cap)
{
	for (size_t cap = 3; cap <= 15; cap += 2)
		for (size_t total = 0; total <= 4 * cap + 1; total++)
			for (size_t step = 1; step <= total + 1; step++)
				check(total, cap, step);
}

Test(capture, caps_of_zero_and_one)
{
	for (size_t cap = 0; cap <= 1; cap++)
		for (size_t total = 0; total <= 5; total++)
			check(total, cap, 2);
}

Test(capture, real_sizes)
{
	static const size_t totals[] = { 32767, 32768, 32769, 65535, 65536, 65537, 98304, 131072, 1000003 };
	static const size_t steps[] = { 1000, 4096, 32768, 65536, 70000, 1 << 20 };
	for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
		for (size_t j = 0; j < sizeof steps / sizeof *steps; j++)
			check(totals[i], 65536, steps[j]);
}

Test(capture, nothing_written)
{
	struct aj_output_buffer c = { .cap_bytes = 64 };
	size_t bytes = 1;
	char *text = aj_output_buffer_text(&c, &bytes);
	cr_expect_str_eq(text, "");
	cr_expect_eq(bytes, 0);
	cr_expect_eq(aj_output_buffer_omitted(&c), 0);
	free(text);
}

Test(capture, bytes_are_kept_as_they_are)
{
	struct aj_output_buffer c = { .cap_bytes = 64 };
	size_t bytes;
	aj_output_buffer_add(&c, "a\0\xff\x1b", 4);
	char *text = aj_output_buffer_text(&c, &bytes);
	cr_expect(bytes == 4 && memcmp(text, "a\0\xff\x1b", 5) == 0);
	free(text);
	aj_output_buffer_free(&c);
}
