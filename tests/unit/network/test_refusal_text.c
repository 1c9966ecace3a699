/* Tests of egress/sentence: the text about a refusal, which names host and port as a policy writes them, and is one printable line. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "network/egress/egress.h"

Test(sentence, of_each_kind)
{
	static const struct {
		struct aj_egress_event event;
		const char *advice;
	} rows[] = {
		{ { .unlisted = true, .port = 443, .name = "a.test" },
		  "Ask for a.test:443 to be allowed (agentjail --allow-host a.test:443), or work without it." },
		{ { .unlisted = true, .name = "a.test" }, "Ask for a.test to be allowed, or work without it." },
		{ { .unlisted = true, .port = 80, .address = "2001:db8::1" },
		  "Ask for [2001:db8::1]:80 to be allowed (agentjail --allow-host [2001:db8::1]:80), or work without it." },
		{ { .unlisted = true, .port = 80, .name = "a-.test" }, "Ask for a-.test:80 to be allowed, or work without it." },
		{ { .unlisted = true, .port = 80, .name = "a.0" }, "Ask for a.0:80 to be allowed, or work without it." },
		{ { .unlisted = true, .port = 80, .address = "0.0.4.210" }, "Ask for 0.0.4.210:80 to be allowed, or work without it." },
		{ { .port = 443, .name = "a.test", .address = "10.0.0.1" },
		  "a.test:443 is on the list: connect as the reason asks for, or work without it." },
		{ { .port = 443, .address = "198.18.0.1" }, "Connect to 198.18.0.1:443 as the reason asks for, or work without it." },
	};
	char text[AJ_EGRESS_ADVICE_BYTES], whole[1024], want[1024];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_egress_event event = rows[i].event;
		aj_egress_advice(&event, text, sizeof text);
		cr_expect_str_eq(text, rows[i].advice);
		snprintf(event.why, sizeof event.why, "a\r\n\x1b[31mreason");
		aj_egress_refusal_text(&event, whole, sizeof whole);
		snprintf(want, sizeof want, "was refused: a???[31mreason. %s", text);
		cr_expect(strncmp(whole, "agentjail: ", 11) == 0 && strstr(whole, want), "%s", whole);
	}
}

Test(sentence, of_the_longest_name)
{
	struct aj_egress_event event = { .unlisted = true, .port = 65535 };
	char text[AJ_EGRESS_ADVICE_BYTES], whole[1024];
	memset(event.name, 'n', 253);
	event.name[63] = event.name[127] = event.name[191] = '.';
	memset(event.why, 'w', sizeof event.why - 1);
	aj_egress_advice(&event, text, sizeof text);
	cr_expect(strstr(text, ":65535), or work without it."), "%s", text);
	aj_egress_refusal_text(&event, whole, sizeof whole);
	cr_expect_eq(strlen(whole), sizeof whole - 1, "cut");
}
