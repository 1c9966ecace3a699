/* Git's configuration format, as a jail may have written it, and which of it makes git run something. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "workspace/git/config.h"

static char seen[4096];

static void note(void *arg, const struct aj_gitconfig *v)
{
	(void)arg;
	size_t used = strlen(seen);
	snprintf(seen + used, sizeof seen - used, "%s%s%s%s.%s=%s%s", used ? "|" : "", v->section, v->subsection[0] ? "." : "",
	         v->subsection, v->key, v->value, aj_gitconfig_runs(v) ? "!" : "");
}

static bool reads(const char *text, size_t bytes)
{
	seen[0] = '\0';
	return aj_gitconfig_read(text, bytes, note, NULL);
}

Test(gitconfig, format)
{
	static const struct {
		const char *text, *want;
		bool whole;
	} rows[] = {
		{ "", "", true },
		{ "[core]\n\tbare = false\n", "core.bare=false", true },
		{ "[core] bare=false", "core.bare=false", true }, /* on the section's line, without a newline at the end */
		{ "[CORE]\nHooksPath = x\n", "core.hookspath=x!", true },
		{ "[core]\nfsmonitor\n", "core.fsmonitor=true", true },
		{ "[core]\r\nfsmonitor = x\r\n", "core.fsmonitor=x!", true },
		{ "\xef\xbb\xbf[core]\nfsmonitor = x\n", "core.fsmonitor=x!", true },
		{ "; c\n# c\n[core] ; c\nfsmonitor = a ; b\n", "core.fsmonitor=a!", true },
		{ "[core]\nfsmonitor = \"a ; b\" c  \n", "core.fsmonitor=a ; b c!", true },
		{ "[core]\nfsmonitor = \\\n  a\\\nb\n", "core.fsmonitor=ab!", true },
		{ "[core]\nfsmonitor = a\\tb\\\"c\\\\\n", "core.fsmonitor=a\tb\"c\\!", true },
		{ "[filter \"X y\"]\nclean = z\n", "filter.X y.clean=z!", true },
		{ "[filter \"a\\\"]b\"]\nclean = z\n", "filter.a\"]b.clean=z!", true },
		{ "[filter.x]\nclean = z\n", "filter.x.clean=z!", true },
		{ "[a]x=1\n[b]y=2\n", "a.x=1|b.y=2", true },
		/* Git reads on behind these, so what follows them must be seen. */
		{ "x = 1\n[core]\nfsmonitor = y\n", ".x=1|core.fsmonitor=y!", true },
		{ "[filter.x \"y\"]\nclean = z\n", "filter.x.y.clean=z!", true },
		{ "[core]\nfsmonitor = true\v\n", "core.fsmonitor=true\v!", true },
		/* Files that git refuses: all settings before the fault are reported. */
		{ "[core]\nfsmonitor = x\n[core\n", "core.fsmonitor=x!", false },
		{ "[core]\n1x = 1\n", "", false },
		{ "[core]\nx_y = 1\n", "", false },
		{ "[core]\nx = \"1\n", "", false },
		{ "[core]\nx = \\q\n", "", false },
		{ "[core \"x]\n", "", false },
		{ "[core x]\n", "", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool whole = reads(rows[i].text, strlen(rows[i].text));
		cr_expect_eq(whole, rows[i].whole, "%s", rows[i].text);
		cr_expect_str_eq(seen, rows[i].want, "%s", rows[i].text);
	}
}

Test(gitconfig, runs)
{
	static const struct {
		const char *text;
		bool runs;
	} rows[] = {
		{ "[core]\nfsmonitor = sh x", true },
		{ "[core]\nfsmonitor = true", false },
		{ "[core]\nbare = true", false },
		{ "[alias]\nst = !sh", true },
		{ "[alias]\nst = status", false },
		{ "[alias \"st\"]\ncommand = !sh", true },
		{ "[pager]\ndiff = less", true },
		{ "[pager]\ndiff = false", false },
		{ "[diff \"x\"]\ntextconv = x", true },
		{ "[merge \"x\"]\ndriver = x", true },
		{ "[credential \"https://x\"]\nhelper = x", true },
		{ "[include]\npath = x", true },
		{ "[gc]\nrecentObjectsHook = x", true },
		{ "[instaweb]\nmodulePath = x", true },
		{ "[includeIf \"gitdir:x\"]\npath = x", true },
		{ "[remote \"o\"]\nurl = ext::sh", true },
		{ "[remote \"o\"]\nurl = https://x/y", false },
		{ "[submodule \"o\"]\nupdate = !x", true },
		{ "[submodule \"o\"]\nupdate = rebase", false },
		{ "[user]\nname = x", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_expect(reads(rows[i].text, strlen(rows[i].text)), "%s", rows[i].text);
		cr_expect_eq(strchr(seen, '!') && seen[strlen(seen) - 1] == '!' ? true : false, rows[i].runs, "%s", seen);
	}
}

Test(gitconfig, everything_ends)
{
	static char text[300000];
	memset(text, 'a', sizeof text);
	memcpy(text, "[core]\nfsmonitor=", 17);
	cr_expect(reads(text, sizeof text));
	cr_expect_str_eq(seen + strlen(seen) - 4, "...!");
	memset(text, 'a', sizeof text);
	memcpy(text, "[", 1);
	cr_expect_not(reads(text, sizeof text));
	memset(text, ' ', sizeof text);
	memcpy(text, "[a]x=1", 6);
	cr_expect(reads(text, sizeof text));
	memset(text, '\\', sizeof text);
	memcpy(text, "[a \"", 4);
	cr_expect_not(reads(text, sizeof text));
	/* Every beginning of a file, and every byte in it, is one that may be met. */
	static const char whole[] = "[a \"b\\\"c\"] x = \"1\\n\" ; c\n\ty\n[core]fsmonitor = \\\n z\n";
	for (size_t n = 0; n < sizeof whole; n++)
		for (int c = 0; c < 256; c++) {
			memcpy(text, whole, sizeof whole);
			text[n] = (char)c;
			reads(text, n + 1);
			reads(text, sizeof whole - 1);
		}
}
