/* Tests of resolve/resolv_conf: the waits that a host's file asks for, and the bound that holds whatever the file says. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "network/resolve/resolv_conf.h"

Test(resolv_conf, options)
{
	static const struct {
		const char *text;
		int timeout_ms, attempts;
	} rows[] = {
		{ "", 2500, 2 },
		{ "nameserver 192.0.2.1\n", 2500, 2 },
		{ "nameserver 192.0.2.1\noptions timeout:1 attempts:1\n", 1000, 1 },
		{ "options timeout:1\tattempts:3", 1000, 3 },
		{ "options edns0 timeout:3 ndots:2\noptions attempts:1\n", 3000, 1 }, /* the later line has another option */
		{ "options timeout:1 timeout:2\n", 2000, 2 },
		{ "options  timeout:2 \r\n", 2000, 2 },
		{ "#options timeout:1\n options timeout:1\noptionstimeout:1\n; timeout:1\n", 2500, 2 },
		{ "search options timeout:1\n", 2500, 2 },
		{ "options\ntimeout:1\n", 2500, 2 },
		{ "options timeout: attempts:x\n", 1000, 1 }, /* as libc: no number is 0, and that is raised to 1 */
		{ "options timeout:30\n", 4000, 2 },          /* 10 s at most, and 12 s for all */
		{ "options timeout:30 attempts:1\n", 10000, 1 },
		{ "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n", 1333, 2 },
		{ "options attempts:99\n", 387, 5 },
		{ "options timeout:-5 attempts:-5\n", 1000, 1 },
		{ "options timeout:99999999999999999999 attempts:99999999999999999999\n", 387, 5 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_resolv_options o = aj_resolv_options(rows[i].text);
		cr_expect(o.timeout_ms == rows[i].timeout_ms && o.attempts == rows[i].attempts, "row %zu: %d %d", i, o.timeout_ms,
		          o.attempts);
	}
}

Test(resolv_conf, no_file_makes_a_program_wait_for_longer)
{
	char text[2048];
	for (int servers = 0; servers < 20; servers++)
		for (int attempts = 0; attempts < 8; attempts++)
			for (int timeout = 0; timeout < 40; timeout += 3) {
				int at = snprintf(text, sizeof text, "options timeout:%d attempts:%d\n", timeout, attempts);
				for (int i = 0; i < servers; i++)
					at += snprintf(text + at, sizeof text - (size_t)at, "nameserver 192.0.2.%d\n", i);
				struct aj_resolv_options o = aj_resolv_options(text);
				int most = servers < 1 ? 1 : servers > 8 ? 8 : servers;
				cr_assert(o.timeout_ms > 0 && o.attempts > 0);
				cr_assert_leq(o.timeout_ms * ((1 << o.attempts) - 1) * most, AJ_RESOLV_WAIT_MS, "%s", text);
			}
}
