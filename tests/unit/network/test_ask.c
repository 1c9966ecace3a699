/* Questions about names and their answers as text: lines of JSON, and the list of hosts in a policy file. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "network/ask/ask.h"

Test(ask, names_that_may_be_shown)
{
	static const char *const good[] = { "a", "files.example.org", "xn--bcher-kva.example", "_x.a-b.test", "1" };
	static const char *const bad[] = { "",
		                           "a b",
		                           "A.test",
		                           "a\033[2J",
		                           "a\n",
		                           "b\xc3\xbc"
		                           "cher",
		                           "a\"b",
		                           "a\\",
		                           "a/b",
		                           "a:1",
		                           "?.test" };
	char longest[300];
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect(aj_ask_name_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_not(aj_ask_name_valid(bad[i]), "%s", bad[i]);
	memset(longest, 'a', sizeof longest);
	longest[254] = '\0';
	cr_expect_not(aj_ask_name_valid(longest));
	longest[253] = '\0';
	cr_expect(aj_ask_name_valid(longest));
}

Test(ask, a_question_is_one_line)
{
	struct aj_asked q = { .id = 7, .name = "files.example.org", .port = 443 };
	char line[AJ_ASK_LINE_BYTES];
	size_t bytes = aj_ask_write_line(&q, line);
	cr_expect_eq(bytes, strlen(line));
	cr_expect_str_eq(line, "{\"id\":\"7\",\"name\":\"files.example.org\",\"port\":443,\"why\":\"this name and port are not on the jail's list\"}\n");
}

Test(ask, answers)
{
	static const struct {
		const char *line;
		bool good;
		uint32_t id;
		enum aj_egress_verdict verdict;
	} rows[] = {
		{ "{\"id\":\"1\",\"answer\":\"once\"}", true, 1, AJ_EGRESS_ONCE },
		{ " {\"answer\" : \"run\", \"id\" : \"4294967294\" , \"more\":[]} \r", true, 4294967294u, AJ_EGRESS_RUN },
		{ "{\"id\":\"12\",\"answer\":\"deny\"}", true, 12, AJ_EGRESS_DENY },
		{ "{\"answer\":\"run\"}", true, 0, AJ_EGRESS_RUN },
		{ "{\"id\":\"3\",\"answer\":\"Run\"}", false, 3, 0 },
		{ "{\"id\":\"3\",\"answer\":\"\"}", false, 3, 0 },
		{ "{\"id\":\"3\",\"answer\":true}", false, 3, 0 },
		{ "{\"id\":\"3\"}", false, 3, 0 },
		{ "{\"id\":3,\"answer\":\"run\"}", false, UINT32_MAX, 0 },
		{ "{\"id\":null,\"answer\":\"run\"}", false, UINT32_MAX, 0 },
		{ "{\"id\":\"\",\"answer\":\"run\"}", false, UINT32_MAX, 0 },
		{ "{\"id\":\"0\",\"answer\":\"run\"}", false, UINT32_MAX, 0 },
		{ "{\"id\":\"01\",\"answer\":\"run\"}", false, UINT32_MAX, 0 },
		{ "{\"id\":\"-1\",\"answer\":\"run\"}", false, UINT32_MAX, 0 },
		{ "{\"id\":\"4294967295\",\"answer\":\"run\"}", false, UINT32_MAX, 0 },
		{ "{\"id\":\"99999999999\",\"answer\":\"run\"}", false, UINT32_MAX, 0 },
		{ "{\"id\":\"1\",\"id\":\"2\",\"answer\":\"run\"}", false, 0, 0 },
		{ "{\"id\":\"1\",\"answer\":\"run\"} x", false, 0, 0 },
		{ "\"run\"", false, 0, 0 },
		{ "run", false, 0, 0 },
		{ "", false, 0, 0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint32_t id;
		enum aj_egress_verdict verdict = AJ_EGRESS_DENY;
		cr_expect_eq(aj_ask_read_line(rows[i].line, strlen(rows[i].line), &id, &verdict), rows[i].good, "%s", rows[i].line);
		cr_expect_eq(id, rows[i].id, "%s: id %u", rows[i].line, id);
		cr_expect_eq(verdict, rows[i].verdict, "%s", rows[i].line);
	}
}

Test(ask, one_item_more)
{
	static const struct {
		const char *text, *more;
	} rows[] = {
		{ "[network]\nallow = []\n", "[network]\nallow = [\"a.test:80\", ]\n" },
		{ "[network]\nallow=[\"b:1\"]", "[network]\nallow=[\"a.test:80\", \"b:1\"]" },
		{ "[network] # x\n mode = \"allow\"\n extend_allow = [ # y\n  \"b:1\",\n]\n",
		  "[network] # x\n mode = \"allow\"\n extend_allow = [ # y\n  \"a.test:80\",\n  \"b:1\",\n]\n" },
		{ "network.allow = [\n]\n[limits]\n", "network.allow = [\n  \"a.test:80\",\n]\n[limits]\n" },
		{ "network.extend_allow = []", "network.extend_allow = [\"a.test:80\", ]" },
		{ "[network]\nallow = [\"a.test:80\"]\n", "[network]\nallow = [\"a.test:80\"]\n" },
		{ "[python]\nimports = []\n[network]\nallow = []\n", "[python]\nimports = []\n[network]\nallow = [\"a.test:80\", ]\n" },
		{ "", NULL },
		{ "allow = []\n", NULL },
		{ "[limits]\nallow = []\n", NULL },
		{ "[network]\n# allow = []\n", NULL },
		{ "[network]\nallowed = []\n", NULL },
		{ "[network]\n[limits]\nallow = []\n", NULL },
		{ "[networks]\nallow = []\n", NULL },
		{ "[limits]\nnetwork.allow = []\n", NULL },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *more = aj_ask_save_insert(rows[i].text, "a.test", 80);
		if (rows[i].more)
			cr_expect_str_eq(more ? more : "NULL", rows[i].more);
		else
			cr_expect_null(more, "%s", rows[i].text);
		free(more);
	}
}
