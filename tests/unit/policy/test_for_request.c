/* Tests of policyload/for_request: how far a request may change a served policy, by rows: what the policy lets requests ask for, what one asks for,
 * and the answer. No file is read and no jail is started. */
#include <criterion/criterion.h>
#include <string.h>

#include "policy/load/for_request.h"

static struct aj_arena arena;
static struct aj_loaded loaded;
static struct aj_site site;
static struct aj_policy got;
static struct aj_error err;

static void finish(void)
{
	aj_arena_free(&arena);
}
TestSuite(for_request, .fini = finish);

static struct aj_policy *policy = &loaded.policy;

static void words(const char *text, void *list)
{
	AJ_LIST(const char *) *to = list;
	memset(to, 0, sizeof *to);
	char *copy = aj_strdup(&arena, text);
	for (char *save, *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		*AJ_PUSH(&arena, to) = word;
}

static void serve(const char *imports, const char *more)
{
	aj_keys_default(aj_policy_keys, policy, &arena);
	aj_keys_default(aj_policy_keys, &site.ceilings, &arena);
	policy->name = "p";
	words(imports, &policy->imports);
	words(more, &policy->request_imports);
}

static size_t of_key(const char *name)
{
	return (size_t)(aj_key_find(aj_policy_keys, name) - aj_policy_keys);
}

/* NULL: the request is served; else the reason of the refusal is `reason`. */
static enum aj_reason ask(const struct aj_python_ask *what)
{
	err = (struct aj_error){ 0 };
	int r = aj_policy_for_request(&got, &loaded, &site, what, &arena, &err);
	cr_expect_eq(r == 0, !err.exit_code);
	return err.reason;
}

static enum aj_reason ask_imports(const char *text)
{
	AJ_LIST(const char *) list;
	static const char *const none[1];
	words(text, &list);
	return ask(&(struct aj_python_ask){ .imports = list.count ? list.items : none, .imports_count = list.count });
}

/* A clock has no order, so any may be asked for where none is locked; a sleep may only become shorter. */
Test(for_request, clock_and_sleep)
{
	serve("json", "");
	cr_expect_eq(ask(&(struct aj_python_ask){ .clock = "2026-01-01T00:00:00Z", .sleep_max = "10ms" }), AJ_REASON_NONE);
	cr_expect_str_eq(got.clock, "2026-01-01T00:00:00Z");
	cr_expect_eq(got.sleep_ms, 10u);
	cr_expect_str_eq(got.options.items[0], "request: clock = \"2026-01-01T00:00:00Z\"");
	cr_expect_eq(ask(&(struct aj_python_ask){ .clock = "noon" }), AJ_REASON_INPUT);
	policy->sleep_ms = 1000;
	cr_expect_eq(ask(&(struct aj_python_ask){ .sleep_max = "1s" }), AJ_REASON_NONE);
	cr_expect_eq(ask(&(struct aj_python_ask){ .sleep_max = "2s" }), AJ_REASON_DENIED);
	cr_expect_eq(ask(&(struct aj_python_ask){ .sleep_max = "none" }), AJ_REASON_DENIED);
	cr_expect(strstr(err.fix, "python.sleep_max"), "%s", err.fix);
	loaded.locked[of_key("python.clock")] = true;
	cr_expect_eq(ask(&(struct aj_python_ask){ .clock = "+1h" }), AJ_REASON_DENIED);
	cr_expect_eq(ask(&(struct aj_python_ask){ .clock = "real" }), AJ_REASON_NONE);
}

Test(for_request, imports)
{
	static const struct {
		const char *policy, *more, *asked;
		enum aj_reason want;
	} rows[] = {
		{ "json math", "", "json", AJ_REASON_NONE },
		{ "json math", "", "math json json", AJ_REASON_NONE },
		{ "json math", "", "", AJ_REASON_NONE },
		{ "json math", "", "os", AJ_REASON_DENIED },
		{ "json math", "", "json os", AJ_REASON_DENIED },
		{ "json math", "", "json.*", AJ_REASON_DENIED },
		{ "json math", "", "json.decoder", AJ_REASON_DENIED },
		{ "json math", "", "*", AJ_REASON_DENIED },
		{ "", "", "json", AJ_REASON_DENIED },
		{ "xml.*", "", "xml", AJ_REASON_NONE },
		{ "xml.*", "", "xml.etree.ElementTree xml.dom.*", AJ_REASON_NONE },
		{ "xml.*", "", "xmlrpc", AJ_REASON_DENIED },
		{ "xml.*", "", "*", AJ_REASON_DENIED },
		{ "xml.etree.*", "", "xml", AJ_REASON_DENIED },
		{ "xml.etree.*", "", "xml.*", AJ_REASON_DENIED },
		{ "*", "", "os xml.* *", AJ_REASON_NONE },
		{ "json", "numpy.* pandas", "numpy.linalg", AJ_REASON_NONE },
		{ "json", "numpy.* pandas", "json numpy.* pandas", AJ_REASON_NONE },
		{ "json", "numpy.* pandas", "pandas.*", AJ_REASON_DENIED },
		{ "json", "*", "*", AJ_REASON_NONE },
		{ "json", "*", "os", AJ_REASON_NONE },
		{ "json", "*", "a b. c", AJ_REASON_INPUT },
		{ "*", "", "** ", AJ_REASON_INPUT },
		{ "*", "", "../x", AJ_REASON_INPUT },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		serve(rows[i].policy, rows[i].more);
		enum aj_reason is = ask_imports(rows[i].asked);
		cr_expect_eq(is, rows[i].want, "`%s` (and `%s`): `%s`: %d: %s", rows[i].policy, rows[i].more, rows[i].asked, is,
		             err.cause);
		cr_expect(is == AJ_REASON_NONE || strcmp(err.step, "imports") == 0, "%s", err.step);
		cr_expect(is != AJ_REASON_DENIED || err.fix[0], "no fix");
	}
	serve("json math", "numpy.*");
	ask_imports("numpy os json sys");
	cr_expect(strstr(err.cause, "[\"os\", \"sys\"]"), "what is too much, and no more: %s", err.cause);
	cr_expect(strstr(err.fix, "numpy.*") && strstr(err.fix, "requests.imports"), "%s", err.fix);
	cr_expect_eq(ask_imports("numpy"), AJ_REASON_NONE);
	cr_expect_eq(got.imports.count, 1, "the request's list replaces the policy's");
	cr_expect_eq(policy->imports.count, 2, "which stays");
	cr_expect_eq(got.options.count, 1);
	cr_expect_str_eq(got.options.items[0], "request: imports = [\"numpy\"]");
}

Test(for_request, many_imports)
{
	AJ_LIST(const char *) list = { 0 };
	serve("*", "");
	for (int i = 0; i < 500; i++)
		*AJ_PUSH(&arena, &list) = aj_printf(&arena, "module%d", i);
	cr_expect_eq(ask(&(struct aj_python_ask){ .imports = list.items, .imports_count = list.count }), AJ_REASON_NONE);
	cr_expect_lt(strlen(got.options.items[0]), 400, "a result names them in short");
	*AJ_PUSH(&arena, &list) = "one_more";
	cr_expect_eq(ask(&(struct aj_python_ask){ .imports = list.items, .imports_count = list.count }), AJ_REASON_INPUT);
}

Test(for_request, other_keys)
{
	static const struct {
		enum aj_builtins builtins, most;
		bool layer, least;
		const char *asked_builtins, *asked_layer;
		enum aj_reason want;
		const char *member;
	} rows[] = {
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, true, true, "minimal", NULL, AJ_REASON_NONE, "" },
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, true, true, "static", NULL, AJ_REASON_NONE, "" },
		{ AJ_BUILTINS_STATIC, AJ_BUILTINS_MINIMAL, true, true, "standard", NULL, AJ_REASON_DENIED, "builtins" },
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, true, true, "standard", "true", AJ_REASON_NONE, "" },
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, true, true, "full", NULL, AJ_REASON_DENIED, "builtins" },
		{ AJ_BUILTINS_MINIMAL, AJ_BUILTINS_STANDARD, true, true, "standard", NULL, AJ_REASON_NONE, "" },
		{ AJ_BUILTINS_MINIMAL, AJ_BUILTINS_STANDARD, true, true, "full", NULL, AJ_REASON_DENIED, "builtins" },
		{ AJ_BUILTINS_MINIMAL, AJ_BUILTINS_FULL, true, true, "full", NULL, AJ_REASON_NONE, "" },
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, true, true, "Full", NULL, AJ_REASON_INPUT, "builtins" },
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, true, true, NULL, "false", AJ_REASON_DENIED, "layer" },
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, true, false, NULL, "false", AJ_REASON_NONE, "" },
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, false, true, NULL, "true", AJ_REASON_NONE, "" },
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, false, true, NULL, "false", AJ_REASON_NONE, "" },
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, true, false, "minimal", "false", AJ_REASON_INPUT, "builtins" },
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, false, true, "minimal", NULL, AJ_REASON_INPUT, "builtins" },
		{ AJ_BUILTINS_STANDARD, AJ_BUILTINS_MINIMAL, false, true, "minimal", "true", AJ_REASON_NONE, "" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		serve("json", "");
		policy->builtins = rows[i].builtins;
		policy->request_builtins = rows[i].most;
		policy->layer = rows[i].layer;
		policy->request_layer = rows[i].least;
		enum aj_reason is = ask(&(struct aj_python_ask){ .builtins = rows[i].asked_builtins, .layer = rows[i].asked_layer });
		cr_expect_eq(is, rows[i].want, "row %zu: %d: %s", i, is, err.cause);
		cr_expect_str_eq(err.step, rows[i].member, "row %zu", i);
	}
}

/* When a refused import is told is every request's choice, where no lock forbids that; "before" is tighter. */
Test(for_request, when_imports_are_checked)
{
	size_t k = of_key("python.imports_checked");
	serve("json", "");
	cr_expect_eq(ask(&(struct aj_python_ask){ .imports_checked = "run" }), AJ_REASON_NONE);
	cr_expect_eq(got.imports_checked, AJ_CHECKED_AT_RUN);
	loaded.locked[k] = true;
	loaded.locked_at[k].file = "p.toml";
	cr_expect_eq(ask(&(struct aj_python_ask){ .imports_checked = "run" }), AJ_REASON_DENIED);
	cr_expect(strstr(err.cause, "p.toml locks python.imports_checked"), "%s", err.cause);
	policy->imports_checked = AJ_CHECKED_AT_RUN;
	cr_expect_eq(ask(&(struct aj_python_ask){ .imports_checked = "before" }), AJ_REASON_NONE);
	cr_expect_eq(got.imports_checked, AJ_CHECKED_BEFORE);
}

/* Rules that bind an option bind a request: [requests] opens no way around a lock or a ceiling. */
Test(for_request, locks_and_ceilings)
{
	size_t imports = of_key("python.imports"), layer = of_key("python.layer");
	serve("json math", "os xml.*");
	policy->request_layer = false;
	cr_expect_eq(ask_imports("os"), AJ_REASON_NONE, "control");
	loaded.locked[imports] = true;
	loaded.locked_at[imports].file = "p.toml";
	cr_expect_eq(ask_imports("os"), AJ_REASON_DENIED);
	cr_expect_eq(ask_imports("json"), AJ_REASON_NONE);
	loaded.locked[imports] = false;
	site.locked[imports] = true;
	site.locked_at.file = "site.toml";
	cr_expect_eq(ask_imports("os"), AJ_REASON_DENIED);
	cr_expect(strstr(err.cause, "site.toml"), "%s", err.cause);
	site.locked[imports] = false;
	site.ceiling_at[imports].file = "site.toml";
	words("json math xml.etree.*", &site.ceilings.imports);
	cr_expect_eq(ask_imports("json os"), AJ_REASON_DENIED);
	cr_expect(strstr(err.cause, "[\"os\"] exceeds the site's ceiling"), "%s", err.cause);
	cr_expect_eq(ask_imports("xml.*"), AJ_REASON_DENIED);
	cr_expect_eq(ask_imports("xml.etree.ElementTree"), AJ_REASON_NONE);
	cr_expect_eq(ask(&(struct aj_python_ask){ .layer = "false" }), AJ_REASON_NONE, "control");
	site.ceiling_at[layer].file = "site.toml";
	site.ceilings.layer = true;
	cr_expect_eq(ask(&(struct aj_python_ask){ .layer = "false" }), AJ_REASON_DENIED);
}

Test(for_request, copy)
{
	const char *names[] = { "json", "os" };
	struct aj_python_ask copy = aj_python_ask_copy(&(struct aj_python_ask){ .imports = names, .imports_count = 2, .layer = "true" },
	                                               &arena);
	names[0] = names[1] = "x";
	cr_expect_str_eq(copy.imports[1], "os");
	cr_expect_str_eq(copy.layer, "true");
	cr_expect_null(copy.builtins);
	copy = aj_python_ask_copy(&(struct aj_python_ask){ .imports = names }, &arena);
	cr_expect(aj_python_asked(&copy), "an empty list is a list");
	copy = aj_python_ask_copy(&(struct aj_python_ask){ 0 }, &arena);
	cr_expect_not(aj_python_asked(&copy));
}
