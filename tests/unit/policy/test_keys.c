/* Tests of the table of keys and of policy/values: every row's default, range, names, printing, order and ceiling.
 * They walk the table, so a new row is tested when it is written. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "policy/keys.h"
#include "policy/load/site.h"

static struct aj_arena arena;
static struct aj_policy a, b, c;

static void fresh(struct aj_policy *p)
{
	*p = (struct aj_policy){ 0 };
	aj_keys_default(aj_policy_keys, p, &arena);
}

static void start(void)
{
	fresh(&a);
	fresh(&b);
	fresh(&c);
}

static void stop(void)
{
	aj_arena_free(&arena);
}
TestSuite(schema, .init = start, .fini = stop);

static const struct aj_key *key_of(const char *name)
{
	const struct aj_key *key = aj_key_find(aj_policy_keys, name);
	cr_assert(key, "%s", name);
	return key;
}

static bool quantity(const struct aj_key *key)
{
	return key->type == AJ_KEY_BYTES || key->type == AJ_KEY_DURATION || key->type == AJ_KEY_COUNT;
}

static const char *of(const struct aj_key *key, const struct aj_policy *p)
{
	return aj_key_value(key, p, &arena);
}

/* `key = TEXT` as a file would say it, into `p`. */
static int take(const struct aj_key *key, struct aj_policy *p, const char *text)
{
	struct aj_diags diags = { .arena = &arena };
	struct aj_toml root;
	struct aj_toml_error err;
	const char *line = aj_printf(&arena, "x = %s", text);
	cr_assert_eq(aj_toml_parse(&root, &arena, line, strlen(line), &err), 0, "%s: %s", line, err.message);
	int r = aj_key_set_toml(key, p, &root.children[0], false, "f", &diags);
	cr_expect_eq(r, diags.errors ? -1 : 0, "%s", line);
	return r;
}

static const struct {
	const struct aj_item_kind *kind;
	const char *small, *other;
} samples[] = {
	{ &aj_item_import, "json", "re" },
	{ &aj_item_preload, "kde:scipy.stats", "json" },
	{ &aj_item_bind, "/srv/a:/a", "/srv/b:/b:rw" },
	{ &aj_item_mask, "/a/b", "/c" },
	{ &aj_item_reached, "/data/a", "/srv" },
	{ &aj_item_socket, "/run/a.sock", "/run/b.sock" },
	{ &aj_item_env, "A=1", "B=\"\\" },
	{ &aj_item_variable, "A", "_b2" },
	{ &aj_item_in_home, ".gitconfig", ".config/git" },
	{ &aj_item_toolchain, "rust", "go" },
	{ &aj_item_host, "a.example:443", "b.example:80" },
	{ &aj_item_publish, "8000", "[::1]:8000:80" },
	{ &aj_item_under, "/srv/a", "/srv/b" },
	{ &aj_item_text, "one", "two \xc3\xa9 \"\\" },
	{ &aj_item_hash_seed, "1", "2" },
	{ &aj_item_clock, "+1h", "2026-01-01T00:00:00Z" },
	{ &aj_item_rootfs, "data", "numpy" },
	{ &aj_item_python_env, "data", "numpy" },
	{ &aj_item_place, "src/a", "b/" },
};

static const char *sample(const struct aj_key *key, bool other)
{
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		if (samples[i].kind == key->items)
			return other ? samples[i].other : samples[i].small;
	cr_assert_fail("%s: add a sample for its items", key->name);
	return NULL;
}

Test(schema, rows)
{
	const struct aj_key *const tables[] = { aj_policy_keys, aj_site_keys };
	for (size_t t = 0; t < 2; t++)
		for (const struct aj_key *key = tables[t]; key->name; key++) {
			cr_expect(key->help && strlen(key->help) > 10, "%s explains itself", key->name);
			cr_expect(key->help[strlen(key->help) - 1] != '.', "%s: help is no sentence", key->name);
			for (const struct aj_key *other = tables[t]; other < key; other++) {
				cr_expect_str_neq(key->name, other->name);
				cr_expect(key->offset != other->offset, "%s and %s share a field", key->name, other->name);
			}
			cr_expect_eq(aj_key_find(tables[t], key->name), key);
			cr_expect_str_neq(aj_enforcer_name(key->by), "");
			cr_expect(aj_key_is_list(key) || key->fallback, "%s has a default", key->name);
			if (key->type == AJ_KEY_ENUM || key->type == AJ_KEY_FLAGS)
				cr_expect(key->names && key->names[0] && key->names[1], "%s", key->name);
			if (quantity(key))
				cr_expect(key->min && key->min < key->max && key->max < AJ_AS_WALL, "%s", key->name);
			if (key->type == AJ_KEY_LIST)
				cr_expect(key->items && key->max, "%s", key->name);
		}
	cr_expect_leq(aj_policy_key_count, AJ_KEYS_MAX);
	size_t count = 0;
	while (aj_policy_keys[count].name)
		count++;
	cr_expect_eq(count, aj_policy_key_count);
}

Test(schema, defaults_print_and_parse_back)
{
	for (const struct aj_key *key = aj_policy_keys; key->name; key++) {
		if (key->type == AJ_KEY_TEXT && !*key->fallback)
			continue;
		fresh(&b);
		cr_expect_eq(take(key, &b, of(key, &a)), 0, "%s = %s", key->name, of(key, &a));
		cr_expect_str_eq(of(key, &b), of(key, &a), "%s", key->name);
		cr_expect_eq(aj_key_compare(key, &a, &b, &arena), AJ_SAME, "%s", key->name);
		cr_expect(aj_key_within(key, &a, &b, &arena), "%s", key->name);
	}
}

Test(schema, quantities)
{
	for (const struct aj_key *key = aj_policy_keys; key->name; key++) {
		if (!quantity(key))
			continue;
		const char *unit = key->type == AJ_KEY_DURATION ? "ms" : "", *quote = key->type == AJ_KEY_COUNT ? "" : "\"";
		const struct {
			uint64_t value;
			bool good;
		} values[] = { { key->min, true },      { key->max, true },      { key->min + 1, true }, { key->max - 1, true },
			       { key->min - 1, false }, { key->max + 1, false }, { 0, false },           { INT64_MAX, false } };
		for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
			fresh(&b);
			const char *text = aj_printf(&arena, "%s%lu%s%s", quote, values[i].value, unit, quote), *before = of(key, &b);
			cr_expect_eq(take(key, &b, text), values[i].good ? 0 : -1, "%s = %s", key->name, text);
			const char *wrong = aj_key_set_text(key, &c, &arena, aj_printf(&arena, "%lu%s", values[i].value, unit));
			cr_expect_eq(!wrong, values[i].good, "%s %s: %s", key->name, text, wrong);
			if (!values[i].good) {
				cr_expect_str_eq(of(key, &b), before, "%s: a bad value leaves the old one", key->name);
				continue;
			}
			cr_expect_eq(*(uint64_t *)((char *)&b + key->offset), values[i].value);
			fresh(&c);
			cr_expect_eq(take(key, &c, of(key, &b)), 0, "%s = %s", key->name, of(key, &b));
			cr_expect_eq(aj_key_compare(key, &b, &c, &arena), AJ_SAME, "%s", key->name);
		}
		if (key->type == AJ_KEY_BYTES)
			cr_expect_eq(take(key, &b, aj_printf(&arena, "%lu", key->min)), 0, "%s as an integer", key->name);
		cr_expect_eq(take(key, &b, "\"none\""), key->none ? 0 : -1, "%s = none", key->name);
		cr_expect_eq(take(key, &b, "-1"), -1);
		cr_expect_eq(take(key, &b, "1.0"), -1);
		cr_expect_eq(take(key, &b, "true"), -1);
		cr_expect_eq(take(key, &b, "\"\""), -1);
		cr_expect_eq(take(key, &b, "[]"), -1);
		cr_expect_eq(take(key, &b, "\"wall\""), strcmp(key->name, "limits.cpu") == 0 ? 0 : -1, "%s = wall", key->name);
		if (key->none) {
			fresh(&b);
			cr_expect_eq(take(key, &b, "\"none\""), 0);
			cr_expect_eq(*(uint64_t *)((char *)&b + key->offset), 0);
			cr_expect_str_eq(of(key, &b), "\"none\"");
			/* none is looser than the largest number */
			take(key, &c, aj_printf(&arena, "%s%lu%s%s", quote, key->max, unit, quote));
			cr_expect_eq(aj_key_compare(key, &c, &b, &arena), AJ_LOOSER, "%s", key->name);
			cr_expect_eq(aj_key_compare(key, &b, &c, &arena), AJ_TIGHTER, "%s", key->name);
			cr_expect_not(aj_key_within(key, &c, &b, &arena), "%s", key->name);
			cr_expect(aj_key_within(key, &b, &c, &arena), "%s", key->name);
		}
	}
}

static enum aj_order turned(const struct aj_key *key, enum aj_order more)
{
	if (key->looser == AJ_LOOSER_MORE || more == AJ_SAME)
		return more;
	if (key->looser == AJ_LOOSER_LESS)
		return more == AJ_LOOSER ? AJ_TIGHTER : AJ_LOOSER;
	return AJ_DIFFERENT;
}

Test(schema, names)
{
	for (const struct aj_key *key = aj_policy_keys; key->name; key++) {
		for (size_t i = 0; key->names && key->names[i]; i++) {
			bool flags = key->type == AJ_KEY_FLAGS;
			fresh(&b);
			const char *text = aj_printf(&arena, flags ? "[\"%s\"]" : "\"%s\"", key->names[i]);
			cr_expect_eq(take(key, &b, text), 0, "%s = %s", key->name, text);
			cr_expect_str_eq(of(key, &b), text, "%s", key->name);
			fresh(&c);
			cr_expect_null(aj_key_set_text(key, &c, &arena, key->names[i]));
			cr_expect_str_eq(of(key, &c), text);
			cr_expect_eq(take(key, &b, aj_printf(&arena, flags ? "[\"%sx\"]" : "\"%sx\"", key->names[i])), -1);
			if (key->names[i][0] >= 'a')
				cr_expect_eq(take(key, &b,
				                  aj_printf(&arena, flags ? "[\"%c%s\"]" : "\"%c%s\"", key->names[i][0] - 32,
				                            key->names[i] + 1)),
				             -1, "%s: capitals", key->name);
			cr_expect_str_eq(of(key, &b), text, "%s: a bad value leaves the old one", key->name);
			if (i == 0 || flags)
				continue;
			take(key, &c, aj_printf(&arena, "\"%s\"", key->names[i - 1]));
			cr_expect_eq(aj_key_compare(key, &c, &b, &arena), turned(key, AJ_LOOSER),
			             "%s: %s is looser than the name before it", key->name, key->names[i]);
			cr_expect_eq(aj_key_compare(key, &b, &c, &arena), turned(key, AJ_TIGHTER), "%s", key->name);
		}
	}
}

/* The order of the names is the order of the enum. */
Test(schema, names_and_numbers)
{
	take(key_of("network.mode"), &a, "\"host\"");
	take(key_of("filesystem.workspace"), &a, "\"read-write\"");
	take(key_of("limits.enforce"), &a, "\"best-effort\"");
	take(key_of("audit.on_failure"), &a, "\"flag\"");
	take(key_of("python.builtins"), &a, "\"full\"");
	cr_expect(a.network == AJ_NET_HOST && a.workspace == AJ_WORKSPACE_READ_WRITE && a.enforce == AJ_ENFORCE_BEST_EFFORT &&
	          a.audit_failure == AJ_AUDIT_FLAG && a.builtins == AJ_BUILTINS_FULL);
	take(key_of("process.deny_syscalls"), &a, "[\"threads\", \"memfd\"]");
	take(key_of("require.walls"), &a, "[\"landlock\", \"python-layer\"]");
	cr_expect_eq(a.deny_syscalls, AJ_DENY_THREADS | AJ_DENY_MEMFD);
	cr_expect_eq(a.require, AJ_WALL_LANDLOCK | AJ_WALL_PYTHON_LAYER);
}

Test(schema, a_key_that_was_boolean)
{
	const struct aj_key *key = key_of("filesystem.worktree");
	take(key, &a, "true");
	cr_expect_eq(a.worktree, AJ_WORKTREE_SHARED);
	cr_expect_str_eq(of(key, &a), "\"shared\"");
	take(key, &a, "false");
	cr_expect_eq(a.worktree, AJ_WORKTREE_NONE);
	cr_expect_null(aj_key_set_text(key, &a, &arena, "true"));
	cr_expect_eq(a.worktree, AJ_WORKTREE_SHARED);
	cr_expect(aj_key_set_text(key, &a, &arena, "tru"), "no prefix");
	cr_expect_eq(take(key_of("filesystem.workspace"), &a, "true"), -1, "other names have no such values");
}

Test(schema, order)
{
	for (const struct aj_key *key = aj_policy_keys; key->name; key++) {
		fresh(&a);
		fresh(&b);
		fresh(&c);
		bool lists = aj_key_is_list(key);
		if (key->type == AJ_KEY_BOOL) {
			take(key, &a, "false");
			take(key, &b, "true");
		} else if (key->type == AJ_KEY_FLAGS) {
			take(key, &b, aj_printf(&arena, "[\"%s\"]", key->names[0]));
			take(key, &c, aj_printf(&arena, "[\"%s\"]", key->names[1]));
		} else if (key->type == AJ_KEY_LIST) {
			cr_assert_eq(take(key, &a, "[]"), 0, "%s", key->name); /* a list may have a default */
			cr_assert_eq(take(key, &b, aj_printf(&arena, "[%s]", aj_toml_quote(sample(key, false), &arena))), 0, "%s",
			             key->name);
			cr_assert_eq(take(key, &c, aj_printf(&arena, "[%s]", aj_toml_quote(sample(key, true), &arena))), 0, "%s",
			             key->name);
		} else if (key->type == AJ_KEY_TEXT) {
			cr_assert_eq(take(key, &a, aj_toml_quote(sample(key, false), &arena)), 0);
			cr_assert_eq(take(key, &b, aj_toml_quote(sample(key, true), &arena)), 0);
			cr_expect_eq(aj_key_compare(key, &a, &b, &arena), AJ_DIFFERENT);
			cr_expect_str_eq(of(key, &b), aj_toml_quote(sample(key, true), &arena));
			continue;
		} else {
			continue; /* quantities and enums: above */
		}
		cr_expect_eq(aj_key_compare(key, &a, &b, &arena), turned(key, AJ_LOOSER), "%s", key->name);
		cr_expect_eq(aj_key_compare(key, &b, &a, &arena), turned(key, AJ_TIGHTER), "%s", key->name);
		cr_expect_eq(aj_key_compare(key, &b, &b, &arena), AJ_SAME, "%s", key->name);
		if (!lists)
			continue;
		cr_expect_eq(aj_key_compare(key, &b, &c, &arena), AJ_DIFFERENT, "%s", key->name);
		cr_expect_not(aj_key_within(key, &b, &c, &arena), "%s", key->name);
		cr_expect_not(aj_key_within(key, &c, &b, &arena), "%s", key->name);
	}
}

/* Lowered, a value is within its ceiling, is not looser than before, and lowering again changes nothing. */
Test(schema, lower)
{
	for (const struct aj_key *key = aj_policy_keys; key->name; key++) {
		if (key->looser == AJ_LOOSER_ANY || key->looser == AJ_LOOSER_NEVER)
			continue;
		const char *values[6];
		size_t count = 0;
		if (key->type == AJ_KEY_BOOL) {
			values[count++] = "true";
			values[count++] = "false";
		} else if (key->type == AJ_KEY_ENUM) {
			for (; key->names[count]; count++)
				values[count] = aj_printf(&arena, "\"%s\"", key->names[count]);
		} else if (key->type == AJ_KEY_FLAGS) {
			values[count++] = "[]";
			values[count++] = aj_printf(&arena, "[\"%s\"]", key->names[0]);
			values[count++] = aj_printf(&arena, "[\"%s\"]", key->names[1]);
			values[count++] = aj_printf(&arena, "[\"%s\", \"%s\"]", key->names[0], key->names[1]);
		} else if (key->type == AJ_KEY_LIST) {
			const char *x = aj_toml_quote(sample(key, false), &arena), *y = aj_toml_quote(sample(key, true), &arena);
			values[count++] = "[]";
			values[count++] = aj_printf(&arena, "[%s]", x);
			values[count++] = aj_printf(&arena, "[%s]", y);
			values[count++] = aj_printf(&arena, "[%s, %s]", y, x);
		} else {
			const char *unit = key->type == AJ_KEY_DURATION ? "ms" : "", *quote = key->type == AJ_KEY_COUNT ? "" : "\"";
			values[count++] = aj_printf(&arena, "%s%lu%s%s", quote, key->min, unit, quote);
			values[count++] = aj_printf(&arena, "%s%lu%s%s", quote, key->max, unit, quote);
			if (key->none)
				values[count++] = "\"none\"";
			if (strcmp(key->name, "limits.cpu") == 0)
				values[count++] = "\"wall\"";
		}
		for (size_t i = 0; i < count; i++)
			for (size_t j = 0; j < count; j++) {
				fresh(&a);
				fresh(&b);
				cr_assert_eq(take(key, &a, values[i]), 0, "%s = %s", key->name, values[i]);
				cr_assert_eq(take(key, &b, values[j]), 0, "%s = %s", key->name, values[j]);
				if (aj_key_within(key, &b, &a, &arena))
					continue;
				c = a;
				aj_key_copy(key, &c, &a);
				aj_key_lower(key, &a, &b, &arena);
				cr_expect(aj_key_within(key, &b, &a, &arena), "%s: %s lowered to %s is %s", key->name, values[i],
				          values[j], of(key, &a));
				enum aj_order order = aj_key_compare(key, &c, &a, &arena);
				cr_expect(order == AJ_SAME || order == AJ_TIGHTER, "%s: %s lowered to %s is %s", key->name,
				          values[i], values[j], of(key, &a));
				cr_expect_str_eq(of(key, &c), aj_key_value(key, &c, &arena));
			}
	}
}

Test(schema, the_clock_of_cpu)
{
	const struct aj_key *cpu = key_of("limits.cpu"), *wall = key_of("limits.wall");
	cr_expect_eq(a.cpu_ms, AJ_AS_WALL);
	cr_expect_str_eq(of(cpu, &a), "\"wall\"");
	take(wall, &b, "\"1h\"");
	cr_expect_eq(aj_key_compare(cpu, &a, &b, &arena), AJ_LOOSER);
	take(wall, &b, "\"none\"");
	cr_expect_eq(aj_key_compare(cpu, &a, &b, &arena), AJ_LOOSER);
	take(wall, &b, "\"1s\"");
	cr_expect_eq(aj_key_compare(cpu, &a, &b, &arena), AJ_TIGHTER);
	take(cpu, &b, "\"none\"");
	cr_expect_eq(aj_key_compare(cpu, &a, &b, &arena), AJ_LOOSER);
	take(cpu, &b, "\"30s\"");
	cr_expect_eq(aj_key_compare(cpu, &a, &b, &arena), AJ_SAME);
}

/* A copy's list grows without changing the list it was copied from. */
Test(schema, copies_do_not_share)
{
	const struct aj_key *imports = key_of("python.imports");
	for (int i = 0; i < 20; i++) {
		cr_expect_null(aj_key_set_text(imports, &a, &arena, aj_printf(&arena, "m%d", i)));
		aj_key_copy(imports, &b, &a);
		aj_key_copy(imports, &c, &a);
		aj_key_set_text(imports, &b, &arena, "only_b");
		aj_key_push(imports, &c, &arena, "only_c");
		cr_expect_str_eq(b.imports.items[b.imports.count - 1], "only_b");
		cr_expect_str_eq(c.imports.items[c.imports.count - 1], "only_c");
		cr_expect_eq(a.imports.count, (size_t)i + 1);
		cr_expect_not(strstr(of(imports, &a), "only"));
	}
}

Test(schema, lists_have_an_end)
{
	for (const struct aj_key *key = aj_policy_keys; key->name; key++) {
		if (key->type != AJ_KEY_LIST)
			continue;
		fresh(&b);
		const char *wrong = NULL;
		for (uint64_t i = key->fallback ? 1 : 0; i < key->max; i++) /* a default is one item */
			wrong = aj_key_set_text(key, &b, &arena, sample(key, false));
		cr_expect_null(wrong, "%s: %s", key->name, wrong);
		cr_expect(aj_key_set_text(key, &b, &arena, sample(key, false)), "%s takes more than %lu", key->name, key->max);
	}
}

Test(schema, quoting)
{
	static const char *const texts[] = { "",         "\"", "\\",    "\n\t\r\x01\x1f\x7f", "\xc3\xa9\xf0\x9f\x98\x80", "'",
		                             "a\\u0041", "#",  "\"\"\"" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct aj_toml root;
		struct aj_toml_error err;
		const char *line = aj_printf(&arena, "x = %s", aj_toml_quote(texts[i], &arena));
		cr_assert_eq(aj_toml_parse(&root, &arena, line, strlen(line), &err), 0, "%s: %s", line, err.message);
		cr_expect_str_eq(root.children[0].text, texts[i]);
	}
}

Test(schema, suggestions)
{
	static const struct {
		const char *name, *key;
	} keys[] = {
		{ "limits.memroy", "limits.memory" },
		{ "limit.memory", "limits.memory" },
		{ "memory", "limits.memory" },
		{ "python.wall", "limits.wall" },
		{ "network.modes", "network.mode" },
		{ "filesystem.bind", "filesystem.binds" },
		{ "zzz", NULL },
		{ "", NULL },
		{ "zzzzzzzzzz.zzzzzzzzzzz", NULL },
	};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const char *meant = aj_key_suggest(aj_policy_keys, keys[i].name);
		cr_expect(keys[i].key ? meant && strcmp(meant, keys[i].key) == 0 : !meant, "%s: %s", keys[i].name, meant);
	}
	char long_[1000];
	for (size_t bytes = 50; bytes < 999; bytes += 50) {
		memset(long_, 'x', bytes);
		long_[bytes] = '\0';
		cr_expect_null(aj_key_suggest(aj_policy_keys, long_), "%zu letters are like nothing", bytes);
	}
	cr_expect_str_eq(aj_section_suggest(aj_policy_keys, "netwrok", &arena), "network");
	cr_expect_null(aj_section_suggest(aj_policy_keys, "x", &arena));
	cr_expect(aj_section_known(aj_policy_keys, "limits") && !aj_section_known(aj_policy_keys, "") &&
	          !aj_section_known(aj_policy_keys, "description") && !aj_section_known(aj_policy_keys, "limits.wall") &&
	          !aj_section_known(aj_policy_keys, "limit"));
}
