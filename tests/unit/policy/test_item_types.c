/* Tests of policy/item_types: what each small language takes, and that "allows all that the other does" is an order.
 * Each kind has items that are good, items that are not, and pairs of which the first covers the second. */
#include <criterion/criterion.h>
#include <string.h>

#include "policy/item_types.h"

static struct aj_arena arena;

static void stop(void)
{
	aj_arena_free(&arena);
}
TestSuite(items, .fini = stop);

#define LABEL_63 "a23456789b123456789c123456789d123456789e123456789f123456789g123"

static const struct {
	const struct aj_item_kind *kind;
	const char *good[20], *bad[80];
	struct {
		const char *outer, *inner;
	} covers[16], not_[24];
} kinds[] = {
	{ &aj_item_import,
	  { "json", "a.b", "a.*", "_x", "A9", "*" },
	  { "", "**", "*.a", ".*", ".", "a.", ".a", "a..b", "a-b", "a b", "a\n", "../a", "a/b", "1a", "\xc3\xa9", "a.*.b", "a*" },
	  { { "a.*", "a" }, { "a.*", "a.b" }, { "a.*", "a.b.c" }, { "a.*", "a.b.*" }, { "a", "a" }, { "*", "a.*" }, { "*", "*" } },
	  { { "a", "a.b" }, { "a", "a.*" }, { "a.*", "ab" }, { "a.*", "ab.c" }, { "a.b.*", "a" }, { "a.b.*", "a.c" }, { "a.b", "a" }, { "a.*", "*" }, { "a", "*" } } },
	{ &aj_item_publish,
	  { "8000", "1", "65535", "8000:80", "127.0.0.1:8000", "0.0.0.0:80:8080", "[::1]:8000", "[::]:80:8080" },
	  { "",
	    ":",
	    "0",
	    "65536",
	    "080",
	    "8000:",
	    ":8000",
	    "8000:0",
	    "8000:80:1",
	    "x",
	    "localhost:8000",
	    "127.1:8000",
	    "0x7f.0.0.1:80",
	    "[::1]",
	    "[::1]8000",
	    "[127.0.0.1]:80",
	    "::1:8000",
	    "8000\n",
	    " 8000",
	    "-1",
	    "8000-8010",
	    "*:8000",
	    "127.0.0.1:*" },
	  { { "8000", "8000" }, { "8000", "127.0.0.1:8000:8000" }, { "[::1]:80", "[0:0::1]:80" } },
	  { { "8000", "8001" }, { "8000", "8000:80" }, { "0.0.0.0:8000", "8000" }, { "8000", "0.0.0.0:8000" }, { "[::1]:80", "80" } } },
	{ &aj_item_bind,
	  { "/a", "/a:/b", "/a:/b:rw", "/a:rw", "/a:ro", "/a:/b:ro", "/a b:/c" },
	  { "",
	    "a",
	    "a:/b",
	    "/a/",
	    "/",
	    "/:/b",
	    "/a:/",
	    "/a:b",
	    "/a:/b:x",
	    "/a:/b:rw:ro",
	    ":/b",
	    "/a//b",
	    "/a/../b:/c",
	    "/a/.:/c",
	    "/a:/b/..",
	    "~/a:/b",
	    "~root:/b",
	    "$HOME:/b",
	    "${HOME}/../..:/b",
	    "/a:/$X",
	    "/a:/b:",
	    "/a:",
	    "./a:/b",
	    "../a:/b" },
	  { { "/a", "/a:/a" }, { "/a:/b:rw", "/a:/b" }, { "/a:/b:rw", "/a:/b:ro" }, { "/a:rw", "/a:/a:rw" } },
	  { { "/a:/b", "/a:/b:rw" }, { "/a:/b", "/a:/c" }, { "/a:/b", "/c:/b" }, { "/a", "/a/b" }, { "/a:/b", "/a/x:/b/x" } } },
	{ &aj_item_place,
	  { "@default", ".git/config", ".git/hooks/", "a", "a b/c", "agentjail*.toml", ".git/modules/*/config", "*", ".claude/",
	    ".claude", ".claude/x/" },
	  { "", "/a", "a//b", "./a", "a/../b", "..", "~/a", "$HOME", "a/$X", "@other", "**", "a/**/b", "a*b*c", "a\nb", "//" },
	  { { "a", "a/b" }, { "a/", "a" }, { "a/", "a/b/" }, { "@default", ".git/config" }, { "@default", ".claude/x" }, { "@default", "agentjail*.toml" } },
	  { { "a", "ab" }, { "a", "a/" }, { "a/b", "a" }, { ".git/config", "@default" }, { "@default", "src" }, { "a*", "ab" }, { "*", "a" } } },
	{ &aj_item_ids,
	  { "", "65536-65536", "100000-165535", "4294967294-4294967294" },
	  { "65535-70000", "0-100000", "70000", "80000-70000", "-", "70000-", "-70000", "70000-80000-90000", "a-b", "70000-4294967295",
	    "70000 -80000", "+70000-80000", "70000--80000", "99999999999999999999-100000", "70000-99999999999999999999" },
	  { { "70000-80000", "70000-80000" } },
	  { { "70000-80000", "70000-70001" } } },
	{ &aj_item_under,
	  { "/", "/a", "/a/b", "@default", "@anywhere" },
	  { "", "a", "/a/", "//a", "/a/../b", "/a/.", "~", "~/a", "$HOME", "/a$b", "@home", "@", "@defaults" },
	  { { "/", "/a" }, { "/", "@anywhere" }, { "/a", "/a" }, { "/a", "/a/b" }, { "@anywhere", "@default" }, { "@default", "@default" } },
	  { { "/a", "/ab" },
	    { "/a/b", "/a" },
	    { "/a", "@default" },
	    { "@default", "/tmp/a" },
	    { "@anywhere", "/a" },
	    { "@default", "@anywhere" },
	    { "/a", "/" } } },
	{ &aj_item_mask,
	  { "/a", "/a/b", "/a.b", "/...", "/.git", "a", ".env", "a/b:if-present", "/a:if-present" },
	  { "", "/", "a/", ":if-present", "a/../../b", "../a", "/a/", "//a", "/a//b", "/.", "/..", "/a/../b", "/a/.", "~/a", "/a$b", "$A" },
	  { { "/a", "/a" }, { "/a", "/a/b" }, { "a", "/workspace/a" }, { "/workspace", "a/b" }, { "a", "a:if-present" }, { "a:if-present", "a/b:if-present" } },
	  { { "/a/b", "/a" }, { "/a", "/ab" }, { "/a", "/" }, { "/a", "/b/a" }, { "a", "/a" }, { "a:if-present", "a" } } },
	{ &aj_item_variable,
	  { "A", "_", "ANTHROPIC_API_KEY", "a1" },
	  { "", "A=1", "1A", "A B", "A-B", "LD_PRELOAD", "PYTHONPATH", "$A", "A*" },
	  { { "A", "A" } },
	  { { "A", "a" }, { "A", "AB" } } },
	{ &aj_item_in_home,
	  { ".gitconfig", ".config/git/config", "x" },
	  { "", "/", "/etc/passwd", "../x", "a/../b", "a/", "a//b", ".", "..", "~/.gitconfig", "$HOME/x", "*.toml", "a/?" },
	  { { ".config", ".config/git" }, { "x", "x" } },
	  { { ".config/git", ".config" }, { ".conf", ".config" } } },
	{ &aj_item_toolchain,
	  { "auto", "none", "rust", "opt" },
	  { "", "cargo", "Rust", "/opt" },
	  { { "auto", "rust" }, { "rust", "rust" }, { "rust", "none" }, { "auto", "none" } },
	  { { "rust", "auto" }, { "rust", "go" }, { "none", "rust" } } },
	{ &aj_item_env,
	  { "A=", "A=1", "_=x", "a_9=b=c", "A=$", "A=5$ x", "A=a$1", "A= ~" },
	  { "", "A", "=", "=1", "9A=1", "A B=1", "A-B=1", "\xc3\xa9=1", "LD_PRELOAD=x", "LD_=", "PYTHONPATH=x", "PYTHON=1",
	    "A=${B}", "A=$(b)", "A=$B", "A=x$B/y", "A=$_", "A=~", "A=~root" },
	  { { "A=1", "A=1" } },
	  { { "A=1", "A=2" }, { "A=", "A=1" }, { "A=1", "B=1" } } },
	{ &aj_item_host,
	  { "a.b:1",
	    "a.b:65535",
	    "*.a.b:443",
	    "A-1.b-2.C:80",
	    LABEL_63 ".b:1",
	    "1a.b2:1",
	    "xn--bcher-kva.example:443",
	    "a_b.c:1",
	    "203.0.113.7:443",
	    "10.1.0.0/16:5432",
	    "10.1.2.3/32:1",
	    "[2001:db8::1]:443",
	    "[2001:DB8::/32]:443",
	    "128.0.0.0/1:1",
	    "0.0.0.0/1:1",
	    "a:443",
	    "my-registry:5000",
	    "host:5432",
	    "Host:1",
	    "host.docker.internal:11434" },
	  { "",
	    "a.b",
	    "a.b:",
	    "a.b:0",
	    "a.b:65536",
	    "a.b:99999999999999999999",
	    "a.b:+1",
	    "a.b:-1",
	    "a.b: 1",
	    "a.b:1 ",
	    "a.b:0443",
	    "a.b:0x50",
	    "a.b:http",
	    ":443",
	    "*:443",
	    "*.:443",
	    "*.b:443",
	    "127.0.0.1:80",
	    "127.0.0.0/8:80",
	    "127.1.0.0/16:80",
	    "0.0.0.0:80",
	    "[::1]:80",
	    "[::]:80",
	    "[::/127]:80",
	    "localhost:80",
	    "LocalHost:80",
	    "a.localhost:80",
	    "*.a.localhost:80",
	    "host",
	    "*.host:80",
	    "host:0",
	    "*.*.b:1",
	    "a.*.b:1",
	    "a*.b.c:1",
	    ".a.b:1",
	    "a..b:1",
	    "a.b.:1",
	    "-a.b:1",
	    "a-.b:1",
	    "a.b-:1",
	    LABEL_63 "4.b:1",
	    "1.2:80",
	    "127.1:80",
	    "0177.0.0.1:80",
	    "127.0.0.01:80",
	    "2130706433:80",
	    "0x7f000001:80",
	    "127.0.0.1.:80",
	    "256.0.0.1:80",
	    "1.2.3.4.5:80",
	    "10.1.2.3/16:80",
	    "10.1.0.0/33:80",
	    "10.1.0.0/:80",
	    "10.1.0.0/08:80",
	    "10.1.0.0/+8:80",
	    "0.0.0.0/0:80",
	    "[::/0]:80",
	    "10.1.0.0/255.255.0.0:80",
	    "a.b/24:80",
	    "*.10.1.0.0:80",
	    "[2001:db8::1/32]:80",
	    "[2001:db8::/129]:80",
	    "[2001:db8::1%lo]:80",
	    "[::ffff:10.0.0.1]:80",
	    "[::ffff:0:0/96]:80",
	    "[10.0.0.1]:80",
	    "[a.b]:80",
	    "[::1]",
	    "[]:80",
	    "[:80",
	    "[::1:80",
	    "2001:db8::1:80",
	    "0x7f.0x1:80",
	    "a.127:80",
	    "::1:80",
	    "https://a.b:443",
	    "\xc3\xa9.b:1",
	    "a.b:443/x" },
	  { { "a.b:1", "A.B:1" },
	    { "*.a.b:1", "x.a.b:1" },
	    { "*.a.b:1", "y.x.a.b:1" },
	    { "*.a.b:1", "*.x.a.b:1" },
	    { "*.a.b:1", "*.a.b:1" },
	    { "10.1.0.0/16:1", "10.1.255.255:1" },
	    { "10.1.0.0/16:1", "10.1.128.0/17:1" },
	    { "10.1.2.3:1", "10.1.2.3/32:1" },
	    { "128.0.0.0/1:1", "203.0.113.7:1" },
	    { "10.1.0.0/16:1", "[::ffff:10.1.2.3]:1" },
	    { "[2001:db8::/33]:1", "[2001:DB8:7fff::1]:1" },
	    { "a.b:1", "a.b.:1" } },
	  { { "a.b:1", "a.b:2" },
	    { "10.1.0.0/16:1", "10.1.0.0/15:1" },
	    { "10.1.0.0/16:1", "10.2.0.0:1" },
	    { "10.1.0.0/16:1", "10.1.2.3:2" },
	    { "10.1.0.0/16:1", "a.b:1" },
	    { "10.1.0.0/16:1", "[a01::]:1" },
	    { "10.1.2.3:1", "10.1.515:1" },
	    { "*.a.b:1", "10.1.2.3:1" },
	    { "128.0.0.0/1:1", "127.255.255.255:1" },
	    { "[2001:db8::/33]:1", "[2001:db8:8000::1]:1" },
	    { "[2001:db8::/33]:1", "[2001:db8::/32]:1" },
	    { "*.a.b:1", "a.b:1" },
	    { "*.a.b:1", "xa.b:1" },
	    { "a.b:1", "x.a.b:1" },
	    { "a.b:1", "*.a.b:1" },
	    { "*.x.a.b:1", "*.a.b:1" },
	    { "a.b:443", "a.b:0443" },
	    { "a.b:1", "a.b" },
	    { "*.a.b:1", ".a.b:1" },
	    { "a.b:1", "" } } },
	{ &aj_item_name,
	  { "a", "A-b_9", "0" },
	  { "", "-a", "_a", ".", "..", "a.b", "a/b", "/a", "../../tmp/evil", "http://x", "a b", "a\n", "\xc3\xa9", "a:b", "~", LABEL_63 "45" },
	  { { "a", "a" } },
	  { { "a", "A" }, { "a", "b" } } },
	{ &aj_item_clock,
	  { "real", "1970-01-01T00:00:00Z", "2026-02-28T23:59:59Z", "2200-12-31T00:00:00Z", "+24h", "-90s", "+0" },
	  { "", "Real", "2026-01-01", "2026-02-30T00:00:00Z", "2026-1-01T00:00:00Z", "2026-01-01T00:00:00",
	    "2026-01-01T00:00:00z", "2026-01-01T24:00:00Z", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z ",
	    "1969-12-31T23:59:59Z", "2201-01-01T00:00:00Z", "24h", "+", "+-1", "+1x", "+9999999h" },
	  { { "+1h", "+1h" } },
	  { { "+1h", "+60m" } } },
	{ &aj_item_hash_seed, { "random", "0", "4294967295" }, { "", "-1", "Random", "1x", "4294967296" }, { { "1", "1" } }, { { "1", "2" } } },
	{ &aj_item_rootfs, { "default", "host" }, { "", "..", "/x", "a/b", "a.b" }, { { "a", "a" } }, { { "a", "b" } } },
	{ &aj_item_text, { "", "a", "\xc3\xa9" }, { "a\n", "\x1b[2J", "\x7f" }, { { "a", "a" } }, { { "a", "b" } } },
	{ &aj_item_folder, { "/a" }, { "", "/", "a", "~", "~root/x", "/a/", "/a/..", "$HOME/x" }, { { "/a", "/a" } }, { { "/a", "/a/b" } } },
	{ &aj_item_destination,
	  { "none", "syslog", "journal", "file:/a/b" },
	  { "", "None", "file:", "file:a", "file:/a/../b", "file:~/a", "file:$HOME/a", "http://x", "/a", "file:/" },
	  { { "none", "none" } },
	  { { "none", "syslog" } } },
	{ &aj_item_key, { "limits", "*" }, { "" }, { { "a", "a" } }, { { "a", "b" } } },
};

Test(items, good_and_bad)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct aj_item_kind *kind = kinds[i].kind;
		cr_expect(kind->name && kind->pattern && kind->pattern[0] == '^', "%s", kind->name);
		for (size_t j = 0; j < sizeof kinds[i].good / sizeof *kinds[i].good && kinds[i].good[j]; j++) {
			const char *wrong = kind->check(&arena, kinds[i].good[j]);
			cr_expect_null(wrong, "%s `%s`: %s", kind->name, kinds[i].good[j], wrong);
			cr_expect(kind->covers(&arena, kinds[i].good[j], kinds[i].good[j]), "%s `%s` covers itself", kind->name,
			          kinds[i].good[j]);
		}
		for (size_t j = 0; j < sizeof kinds[i].bad / sizeof *kinds[i].bad && kinds[i].bad[j]; j++) {
			const char *wrong = kind->check(&arena, kinds[i].bad[j]);
			cr_expect(wrong && *wrong, "%s takes `%s`", kind->name, kinds[i].bad[j]);
		}
	}
}

Test(items, covers)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct aj_item_kind *kind = kinds[i].kind;
		for (size_t j = 0; j < sizeof kinds[i].covers / sizeof *kinds[i].covers && kinds[i].covers[j].outer; j++)
			cr_expect(kind->covers(&arena, kinds[i].covers[j].outer, kinds[i].covers[j].inner),
			          "%s: `%s` covers `%s`", kind->name, kinds[i].covers[j].outer, kinds[i].covers[j].inner);
		for (size_t j = 0; j < sizeof kinds[i].not_ / sizeof *kinds[i].not_ && kinds[i].not_[j].outer; j++)
			cr_expect_not(kind->covers(&arena, kinds[i].not_[j].outer, kinds[i].not_[j].inner),
			              "%s: `%s` does not cover `%s`", kind->name, kinds[i].not_[j].outer, kinds[i].not_[j].inner);
	}
}

/* Among everything that a kind takes: what covers what covers a third, covers it. */
Test(items, covers_is_an_order)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct aj_item_kind *kind = kinds[i].kind;
		const char *all[52];
		size_t count = 0;
		for (size_t j = 0; j < sizeof kinds[i].good / sizeof *kinds[i].good && kinds[i].good[j]; j++)
			all[count++] = kinds[i].good[j];
		for (size_t j = 0; j < sizeof kinds[i].covers / sizeof *kinds[i].covers && kinds[i].covers[j].outer; j++) {
			all[count++] = kinds[i].covers[j].outer;
			all[count++] = kinds[i].covers[j].inner;
		}
		for (size_t x = 0; x < count; x++)
			for (size_t y = 0; y < count; y++)
				for (size_t z = 0; z < count; z++)
					if (kind->covers(&arena, all[x], all[y]) && kind->covers(&arena, all[y], all[z]))
						cr_expect(kind->covers(&arena, all[x], all[z]), "%s: `%s` > `%s` > `%s`",
						          kind->name, all[x], all[y], all[z]);
	}
}

Test(items, lengths)
{
	char text[400];
	memset(text, 'a', sizeof text);
	text[65] = '\0';
	cr_expect_not(aj_policy_name_valid(text));
	text[64] = '\0';
	cr_expect(aj_policy_name_valid(text));
	memset(text, 'a', sizeof text);
	text[201] = '\0';
	cr_expect(aj_item_text.check(&arena, text) && aj_item_import.check(&arena, text));
	text[200] = '\0';
	cr_expect(!aj_item_text.check(&arena, text) && !aj_item_import.check(&arena, text));
	/* a host of 253 letters, and of 254 */
	for (size_t i = 0; i < 253; i++)
		text[i] = i % 50 == 49 ? '.' : 'a';
	strcpy(text + 253, ":1");
	cr_expect_null(aj_item_host.check(&arena, text));
	strcpy(text + 253, "a:1");
	cr_expect(aj_item_host.check(&arena, text));
}
