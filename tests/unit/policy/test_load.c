/* Tests of policyload/load, policyload/site and toml/source: what a file, a chain of files, a site and an option may say, and where an error is placed.
 * Every test writes its files into a folder of its own below /tmp; none of them starts a jail. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/toml/source.h"
#include "policy/load/load.h"

/* As people see them: what they mean to scripts is part of the interface. */
#define SYNTAX "AJ001"
#define UNKNOWN "AJ002"
#define TYPE "AJ003"
#define VALUE "AJ004"
#define LOCKED "AJ005"
#define CEILING "AJ006"
#define CONTRADICTION "AJ007"
#define TRUST "AJ008"
#define EXTENDS "AJ009"
#define TIGHTEN_ONLY "AJ010"

static struct aj_arena arena;
static struct aj_diags diags;
static struct aj_site site;
static struct aj_loaded loaded;
static struct aj_ask ask;
static char dir[64];

static const char *in(const char *name)
{
	return aj_printf(&arena, "%s/%s", dir, name);
}

static void start(void)
{
	alarm(60); /* a test that hangs is one that crashes */
	umask(022);
	diags = (struct aj_diags){ .arena = &arena };
	ask = (struct aj_ask){ 0 };
	strcpy(dir, "/tmp/aj-load.XXXXXX");
	cr_assert(mkdtemp(dir));
	cr_assert(mkdir(in("site"), 0755) == 0 && mkdir(in("more"), 0755) == 0 && mkdir(in("user"), 0755) == 0);
	site = (struct aj_site){ .file = "no site" };
	aj_keys_default(aj_site_keys, &site, &arena);
	*AJ_PUSH(&arena, &site.path) = in("site");
	*AJ_PUSH(&arena, &site.path) = in("more");
}

static int remove_one(const char *path, const struct stat *st, int what, struct FTW *ftw)
{
	(void)st, (void)what, (void)ftw;
	return remove(path);
}

static void stop(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	aj_arena_free(&arena);
}
TestSuite(load, .init = start, .fini = stop);

static const char *put_bytes(const char *name, const char *text, size_t bytes)
{
	const char *path = in(name);
	FILE *f = fopen(path, "w");
	cr_assert(f, "%s", path);
	cr_assert_eq(fwrite(text, 1, bytes, f), bytes);
	cr_assert_eq(fclose(f), 0);
	return path;
}

static const char *put(const char *name, const char *text)
{
	return put_bytes(name, text, strlen(text));
}

static int again(void)
{
	diags = (struct aj_diags){ .arena = &arena };
	return aj_policy_load(&loaded, &site, &ask, &diags);
}

static int load_name(const char *name)
{
	ask.name = name;
	ask.file = NULL;
	return again();
}

static int load_file(const char *name)
{
	ask.name = NULL;
	ask.file = in(name);
	return again();
}

static int load_text(const char *text)
{
	put("user/p.toml", text);
	return load_file("user/p.toml");
}

/* The site's configuration, with the folder for %s. */
static int site_text(const char *text)
{
	if (access(AJ_SITE_FILE, F_OK) == 0)
		cr_skip("this machine has a " AJ_SITE_FILE);
	diags = (struct aj_diags){ .arena = &arena };
	const char *all = aj_printf(&arena, "%s\n[policies]\npath = [\"%s/site\", \"%s/more\"]\n", text, dir, dir);
	return aj_site_load(&site, put("agentjail.toml", strstr(text, "[policies]") ? text : all), &diags);
}

static void option(const char *name, const char *key, const char *value, bool request_only)
{
	*AJ_PUSH(&arena, &ask.settings) = (struct aj_setting){ .option = name, .key = key, .value = value, .request_only = request_only };
}

static const char *all_findings(void)
{
	const char *all = "";
	for (size_t i = 0; i < diags.list.count; i++)
		all = aj_printf(&arena, "%s\n  %s: %s: %s (%s)", all, aj_origin_text(&diags.list.items[i].at, &arena),
		                diags.list.items[i].code, diags.list.items[i].message, diags.list.items[i].advice);
	return all;
}

/* Is there a finding with this code at this place (0: anywhere) that says all this? */
static bool found(const char *code, int line, int column, const char *words)
{
	for (size_t i = 0; i < diags.list.count; i++) {
		const struct aj_diag *d = &diags.list.items[i];
		const char *text = aj_printf(&arena, "%s fix: %s", d->message, d->advice ? d->advice : "none");
		if (strcmp(d->code, code) == 0 && (!line || d->at.line == line) && (!column || d->at.column == column) &&
		    strstr(text, words))
			return true;
	}
	return false;
}

#define OK(call) cr_expect_eq((call), 0, "refused: %s", all_findings())
#define REFUSED(call, code, line, column, words)                                                                         \
	do {                                                                                                             \
		cr_expect_eq((call), -1, "accepted, which should say: %s", words);                                       \
		cr_expect(found(code, line, column, words), "no %s at %d:%d with `%s` in:%s", code, line, column, words, \
		          all_findings());                                                                               \
	} while (0)

static bool has(const char *key, const char *value)
{
	const struct aj_key *k = aj_key_find(aj_policy_keys, key);
	return strcmp(aj_key_value(k, &loaded.policy, &arena), value) == 0;
}
#define IS(key, value) \
	cr_expect(has(key, value), "%s is %s", key, aj_key_value(aj_key_find(aj_policy_keys, key), &loaded.policy, &arena))

/* --- what a file may say --- */

Test(load, an_empty_file_is_the_defaults)
{
	OK(load_text(""));
	struct aj_policy fresh = { 0 };
	aj_keys_default(aj_policy_keys, &fresh, &arena);
	fresh.cpu_ms = fresh.wall_ms;
	for (const struct aj_key *key = aj_policy_keys; key->name; key++)
		cr_expect_str_eq(aj_key_value(key, &loaded.policy, &arena), aj_key_value(key, &fresh, &arena), "%s", key->name);
	cr_expect_str_eq(loaded.policy.name, "p");
	cr_expect_eq(loaded.policy.files.count, 1);
	char hex[AJ_SHA256_HEX];
	aj_sha256("", 0, hex);
	cr_expect_str_eq(loaded.policy.files.items[0].sha256, hex);
}

Test(load, every_preset)
{
	for (const struct aj_builtin *b = aj_builtins; b->name; b++) {
		if (strcmp(b->name, AJ_BUILTIN_SITE) == 0)
			continue;
		OK(load_name(b->name));
		aj_policy_lint(&loaded, &diags);
		cr_expect_eq(diags.warnings, 0, "%s:%s", b->name, all_findings());
		cr_expect_str_eq(loaded.policy.name, b->name);
		cr_expect(*loaded.policy.description, "%s describes itself", b->name);
		char hex[AJ_SHA256_HEX];
		aj_sha256(b->text, strlen(b->text), hex);
		cr_expect_str_eq(loaded.policy.files.items[0].sha256, hex);
	}
	cr_expect_eq(load_name(AJ_BUILTIN_SITE), -1, "the site's configuration is no policy");
}

/* One mistake a file: code, line, column, what the message and the advice say. */
static const struct {
	const char *text, *code;
	int line, column;
	const char *words;
} mistakes[] = {
	{ "netwrok = \"none\"", UNKNOWN, 1, 1, "did you mean `network`" },
	{ "[netwrok]\nmode = \"none\"", UNKNOWN, 1, 2, "did you mean `network`" },
	{ "[network]\nmdoe = \"none\"", UNKNOWN, 2, 1, "did you mean `network.mode`" },
	{ "[limits]\n\n  memroy = \"1G\"", UNKNOWN, 3, 3, "did you mean `limits.memory`" },
	{ "memory = \"1G\"", UNKNOWN, 1, 1, "did you mean `limits.memory`" },
	{ "[python]\nwall = \"1s\"", UNKNOWN, 2, 1, "did you mean `limits.wall`" },
	{ "name = \"x\"", UNKNOWN, 1, 1, "there is no key `name`" },
	{ "Description = \"x\"", UNKNOWN, 1, 1, "did you mean `description`" },
	{ "extend = \"snippet\"", UNKNOWN, 1, 1, "extend" },
	{ "\"\" = 1", UNKNOWN, 1, 1, "there is no key ``" },
	{ "\"limits.wall\" = \"1s\"", UNKNOWN, 1, 1, "there is no key `limits.wall`" },
	{ "\"extend_python.imports\" = [\"os\"]", UNKNOWN, 1, 1, "there is no key" },
	{ "[\"python.layer\"]", UNKNOWN, 1, 2, "there is no key" },
	{ "[python]\n\"python.layer\" = false", UNKNOWN, 2, 1, "did you mean `python.layer`" },
	{ "[limits.wall]\nx = 1", TYPE, 1, 0, "is a table and must be a duration" },
	{ "[[limits]]\nwall = \"1s\"", TYPE, 1, 0, "is a section" },
	{ "limits = \"1s\"", TYPE, 1, 1, "is a section: [limits]" },
	{ "[description]", TYPE, 1, 0, "must be a string" },
	{ "description = [\"a\"]", TYPE, 1, 1, "must be a string" },
	{ "[limits]\nwall = 30", TYPE, 2, 1, "write \"30s\"" },
	{ "[limits]\nwall = 30.5", TYPE, 2, 1, "is a float" },
	{ "[limits]\nwall = 1979-05-27", TYPE, 2, 1, "is a date or time" },
	{ "[limits]\nwall = true", TYPE, 2, 1, "is a boolean" },
	{ "[limits]\nwall = \"30\"", VALUE, 2, 1, "without a unit" },
	{ "[limits]\nwall = \"\"", VALUE, 2, 1, "not a duration" },
	{ "[limits]\nwall = \"0s\"", VALUE, 2, 1, "a limit of 0 lets nothing run" },
	{ "[limits]\nwall = \"-1s\"", VALUE, 2, 1, "not a duration" },
	{ "[limits]\nwall = \"9ms\"", VALUE, 2, 1, "out of range: from 10ms" },
	{ "[limits]\nwall = \"169h\"", VALUE, 2, 1, "out of range" },
	{ "[limits]\nwall = \"18446744073709551615ms\"", VALUE, 2, 1, "`limits.wall`" },
	{ "[limits]\nwall = \"wall\"", VALUE, 2, 1, "not a duration" },
	{ "[limits]\nwall = \"1\\u0000s\"", VALUE, 2, 1, "holds a NUL" },
	{ "[limits]\ncpu = \"Wall\"", VALUE, 2, 1, "not a duration" },
	{ "[limits]\nmemory = 0", VALUE, 2, 1, "a limit of 0 lets nothing run" },
	{ "[limits]\nmemory = -1", VALUE, 2, 1, "out of range" },
	{ "[limits]\nmemory = 9223372036854775807", VALUE, 2, 1, "out of range" },
	{ "[limits]\nmemory = 9223372036854775808", SYNTAX, 2, 0, "" },
	{ "[limits]\nmemory = \"17179869184G\"", VALUE, 2, 1, "limits.memory" },
	{ "[limits]\nmemory = 1e9", TYPE, 2, 1, "is a float" },
	{ "[limits]\npids = \"32\"", TYPE, 2, 1, "without the quotes" },
	{ "[limits]\npids = \"unlimited\"", TYPE, 2, 1, "must be an integer" },
	{ "[limits]\nopen_files = \"none\"", TYPE, 2, 1, "must be an integer" },
	{ "[limits]\nopen_files = 0", VALUE, 2, 1, "out of range: from 16" },
	{ "[limits]\nmemory = \"512MB\"", VALUE, 2, 1, "did you mean 512M?" },
	{ "[limits]\nmemory = \"2g\"", VALUE, 2, 1, "did you mean 2G?" },
	{ "[limits]\nmemory = \"64 M\"", VALUE, 2, 1, "from 16M to 4096G, or \"none\"" },
	{ "[limits]\npids = 0", VALUE, 2, 1, "a limit of 0 lets nothing run" },
	{ "[process]\nuid = 0", VALUE, 2, 1, "out of range: from 1 to 65533" },
	{ "[process]\nuid = 65534", VALUE, 2, 1, "out of range" },
	{ "[process]\nexec = \"true\"", TYPE, 2, 1, "without the quotes" },
	{ "[process]\nexec = 1", TYPE, 2, 1, "must be true or false" },
	{ "[network]\nmode = \"lopback\"", VALUE, 2, 1, "did you mean \"loopback\"" },
	{ "[network]\nmode = \"\"", VALUE, 2, 1, "not one of none, loopback, allow or host" },
	{ "[network]\nmode = [\"none\"]", TYPE, 2, 1, "is an array" },
	{ "[python]\nimports = \"json\"", TYPE, 2, 1, "put it in brackets: [\"json\"]" },
	{ "[python]\nimports = [\"json\",\n  7]", TYPE, 3, 3, "an item of `python.imports` is an integer" },
	{ "[python]\nimports = [[\"json\"]]", TYPE, 2, 12, "is an array" },
	{ "[python]\nimports = [\"json\",\n \"os; x\"]", VALUE, 3, 2, "not a module name" },
	{ "[python]\npreload = [\"a.b\", \"word:a.b\", \"a.*\"]", VALUE, 2, 31, "not MODULE, nor WORD:MODULE" },
	{ "[python]\npreload = [\"a.b:c\"]", VALUE, 2, 12, "not MODULE, nor WORD:MODULE" },
	{ "[python]\npreload = [\":c\"]", VALUE, 2, 12, "not MODULE, nor WORD:MODULE" },
	{ "[python]\nimports = [\"**\"]", VALUE, 2, 12, "not a module name" },
	{ "[requests]\nimports = [\"os\", \"*.x\"]", VALUE, 2, 18, "not a module name" },
	{ "[requests]\nbuiltins = \"all\"", VALUE, 2, 1, "minimal" },
	{ "[python]\nimports = [\"js\\u0000on\"]", VALUE, 2, 12, "NUL" },
	{ "[python]\nimports = {}", TYPE, 2, 1, "is a table" },
	{ "[[python.imports]]\nx = 1", TYPE, 1, 0, "`python.imports`" },
	{ "[python]\nextend_layer = true", UNKNOWN, 2, 1, "is not a list" },
	{ "extend_description = \"x\"", UNKNOWN, 1, 1, "is not a list" },
	{ "[python]\nextend_extend_imports = [\"os\"]", UNKNOWN, 2, 1, "there is no key" },
	{ "[python]\nimports = []\nextend_imports = [\"json\"]", CONTRADICTION, 3, 1, "both replaced and extended" },
	{ "[process]\nextend_deny_syscalls = [\"ipc\"]\ndeny_syscalls = []", CONTRADICTION, 3, 1, "both replaced and extended" },
	{ "[process]\ndeny_syscalls = [\"ipcs\"]", VALUE, 2, 18, "did you mean \"ipc\"" },
	{ "[process]\nenv = [\"HOME=${HOME}/../..\"]", VALUE, 2, 8, "variables are not expanded" },
	{ "[process]\nenv = [\"X=$(id)\"]", VALUE, 2, 8, "variables are not expanded" },
	{ "[process]\nenv = [\"PATH=$UNSET/bin\"]", VALUE, 2, 8, "variables are not expanded" },
	{ "[process]\nenv = [\"HOME=~root\"]", VALUE, 2, 8, "`~` is not expanded" },
	{ "[process]\nenv = [\"HOME\"]", VALUE, 2, 8, "not NAME=VALUE" },
	{ "[process]\nenv = [\"LD_PRELOAD=/x\"]", VALUE, 2, 8, "LD_*" },
	{ "[filesystem]\nbinds = [\"/a:/a\",\n \"~/x:/x\"]", VALUE, 3, 2, "HOME names no folder of the caller" },
	{ "[filesystem]\nbinds = [\"~root/x:/x\"]", VALUE, 2, 10, "`~` and a user's name are not expanded" },
	{ "[filesystem]\nbinds = [\"~/$X:/x\"]", VALUE, 2, 10, "variables are not expanded" },
	{ "[filesystem]\nbinds = [\"../../../..:/x\"]", VALUE, 2, 10, "not absolute" }, /* the root folder */
	{ "[filesystem]\nmasks = [\"~/x\"]", VALUE, 2, 10, "`~` is not expanded" },
	{ "[filesystem]\nhome_import = [\"~/.gitconfig\"]", VALUE, 2, 16, "omit `~/`" },
	{ "[filesystem]\nbinds = [\"${HOME}/../..:/x\"]", VALUE, 2, 10, "variables are not expanded" },
	{ "[filesystem]\nbinds = [\"/a/../b:/x\"]", VALUE, 2, 10, "not absolute" },
	{ "[filesystem]\nmasks = [\"/a/../b\"]", VALUE, 2, 10, "not a path" },
	{ "[filesystem]\nmasks = [\"$HOME\"]", VALUE, 2, 10, "variables are not expanded" },
	{ "[filesystem]\nrootfs = \"../evil\"", VALUE, 2, 1, "not a name" },
	{ "[filesystem]\nrootfs = \"\"", VALUE, 2, 1, "not a name" },
	{ "[network]\nallow = [\"https://pypi.org\"]", VALUE, 2, 10, "a URL" },
	{ "description = \"a\\u0007b\"", VALUE, 1, 1, "control character" },
	{ "lock = \"limits\"", TYPE, 1, 1, "must be an array" },
	{ "lock = [7]", TYPE, 1, 9, "must be a string" },
	{ "lock = [\"limits\", \"limits.memroy\"]", UNKNOWN, 1, 19, "did you mean `limits.memory`" },
	{ "lock = [\"netwrok\"]", UNKNOWN, 1, 9, "did you mean `network`" },
	{ "lock = [\"\"]", UNKNOWN, 1, 9, "there is no key" },
	{ "lock = [\"limits.*\"]", UNKNOWN, 1, 9, "there is no key" },
	{ "lock = [\"limits\\u0000x\"]", UNKNOWN, 1, 9, "lock" },
	{ "extend_lock = [\"limits\"]", UNKNOWN, 1, 1, "there is no key" },
	{ "[lock]\nx = 1", TYPE, 1, 0, "must be an array" },
	{ "extends = []", TYPE, 1, 1, "`extends` must be a string" },
	{ "extends = 1", TYPE, 1, 1, "`extends` must be a string" },
	{ "[extends]\nx = 1", TYPE, 1, 0, "`extends` must be a string" },
	{ "extends = \"\"", EXTENDS, 1, 1, "is not a policy's name" },
	{ "extends = \"snippet\\u0000\"", TYPE, 1, 1, "must be a string" },
	{ "extends = \"snippt\"", EXTENDS, 1, 1, "did you mean `snippet`" },
	{ "extends = \"Snippet\"", EXTENDS, 1, 1, "there is no policy `Snippet`" },
	{ "extends = \"sn\xc3\xacppet\"", EXTENDS, 1, 1, "is not a policy's name" },
	{ "extends = \"agentjail.toml\"", EXTENDS, 1, 1, "is not a policy's name" },
	{ "extends = \"../x.toml\"", EXTENDS, 1, 1, "leads out" },
	{ "extends = \"./../x.toml\"", EXTENDS, 1, 1, "not a plain path" },
	{ "extends = \"./a/../../x.toml\"", EXTENDS, 1, 1, "not a plain path" },
	{ "extends = \"./\"", EXTENDS, 1, 1, "not a plain path" },
	{ "extends = \"/\"", EXTENDS, 1, 1, "not a plain path" },
	{ "extends = \"x/y.toml\"", EXTENDS, 1, 1, "starts with ./" },
	{ "extends = \"./absent.toml\"", TRUST, 1, 1, "No such file" },
	{ "extends = \"./p.toml\"", EXTENDS, 1, 1, "circular" },
	{ "extends = \"http://example.org/p\"", EXTENDS, 1, 1, "is not a policy's name" },
	{ "[limits]\nwall = \"1s\"\nwall = \"2s\"", SYNTAX, 3, 0, "" },
	{ "limits.wall = \"1s\"\n[limits]\nwall = \"2s\"", SYNTAX, 0, 0, "" },
	{ "[limits]\nwall = \"1s\"\n[limits]\npids = 1", SYNTAX, 3, 0, "" },
	{ "[limits\n", SYNTAX, 1, 0, "" },
	{ "a = \"\xff\"", SYNTAX, 1, 6, "not UTF-8" },
	/* contradictions */
	{ "[network]\nallow = [\"pypi.org:443\"]", CONTRADICTION, 2, 1, "but network.mode is \"none\"" },
	{ "[network]\nmode = \"allow\"\n[process]\nexec = true", CONTRADICTION, 2, 1, "names no host" },
	{ "[network]\nmode = \"allow\"\nallow = [\"a.b:1\"]", CONTRADICTION, 2, 1, "the system call list of snippets has no socket" },
	{ "[process]\nexec = false\n[network]\nmode = \"loopback\"", CONTRADICTION, 4, 1, "p.toml:2:1): the system call list" },
	{ "[network]\nmode = \"host\"\n[require]\nwalls = [\"network\"]\n[process]\nexec = true", CONTRADICTION, 2, 1,
	  "asks for the network wall" },
	{ "[filesystem]\nmasks = [\"/w\"]\nbinds = [\"/srv/a:/w/a\"]", CONTRADICTION, 3, 10, "uncovers the mask `/w`" },
	{ "[filesystem]\nmasks = [\"/w\"]\nbinds = [\"/srv/a:/w\"]", CONTRADICTION, 3, 10, "uncovers the mask `/w`" },
	{ "[filesystem]\nbinds = [\"/srv/a:/usr/x\"]", CONTRADICTION, 2, 10, "a part of the jail itself" },
	{ "[filesystem]\nbinds = [\"/a:/x\", \"/b:/x\"]", CONTRADICTION, 2, 19, "two binds have the target `/x`" },
	{ "[filesystem]\nbinds = [\"/a:/x/y\", \"/b:/x\"]", CONTRADICTION, 2, 21, "hides the earlier bind at `/x/y`" },
	{ "[filesystem]\nworkspace = \"read-only\"\nbinds = [\"/a:/workspace/x\"]", CONTRADICTION, 3, 10, "inside the workspace" },
	{ "[process]\nfork = true", CONTRADICTION, 2, 1, "needs process.exec" },
	{ "[filesystem]\nrootfs = \"host\"", CONTRADICTION, 2, 1, "for commands" },
	{ "[python]\nlayer = false\n[require]\nwalls = [\"python-layer\"]", CONTRADICTION, 2, 1, "asks for the Python layer" },
	{ "[requests]\nlayer = false\n[require]\nwalls = [\"python-layer\"]", CONTRADICTION, 2, 1, "switch the Python layer off" },
	{ "[process]\nenv = [\"A=1\", \"B=2\", \"A=3\"]", CONTRADICTION, 2, 22, "the variable `A` is set twice" },
	{ "[limits]\nmemory = \"none\"\n[require]\nwalls = [\"memory-cgroup\"]", CONTRADICTION, 4, 1, "limits.memory is \"none\"" },
	{ "[limits]\npids = \"none\"\n[require]\nwalls = [\"pids-cgroup\"]", CONTRADICTION, 4, 1, "limits.pids is \"none\"" },
	{ "[output]\ncapture = \"2M\"\ntotal = \"1M\"", CONTRADICTION, 2, 1, "keeps more bytes" },
	{ "[output]\ntotal = \"1K\"", CONTRADICTION, 2, 1, "keeps more bytes" },
};

Test(load, mistakes)
{
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		int r = load_text(mistakes[i].text);
		cr_expect_eq(r, -1, "accepted: %s", mistakes[i].text);
		cr_expect(found(mistakes[i].code, mistakes[i].line, mistakes[i].column, mistakes[i].words),
		          "%s\nno %s at %d:%d with `%s` in:%s", mistakes[i].text, mistakes[i].code, mistakes[i].line,
		          mistakes[i].column, mistakes[i].words, all_findings());
		cr_expect_eq(diags.errors, 1, "one mistake, %zu findings:\n%s%s", diags.errors, mistakes[i].text, all_findings());
		for (size_t j = 0; j < diags.list.count; j++)
			cr_expect(diags.list.items[j].at.file, "a finding has a place");
	}
}

Test(load, all_mistakes_are_shown)
{
	const char *text = "extends = \"snippt\"\nnetwrok = 1\nlock = [\"x\", \"y\"]\n[limits]\nwall = 30\npids = 0\nmemroy = \"1G\"\n"
			   "[python]\nimports = [\"a b\", 3, \"json\", \"c d\"]\n[procss]\n";
	cr_expect_eq(load_text(text), -1);
	static const struct {
		int line, column;
	} places[] = { { 1, 1 }, { 2, 1 },  { 3, 9 },  { 3, 14 }, { 5, 1 }, { 6, 1 },
		       { 7, 1 }, { 9, 12 }, { 9, 19 }, { 9, 30 }, { 10, 2 } };
	cr_expect_eq(diags.errors, sizeof places / sizeof *places, "%s", all_findings());
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		bool there = false;
		for (size_t j = 0; j < diags.list.count; j++)
			there |= diags.list.items[j].at.line == places[i].line && diags.list.items[j].at.column == places[i].column;
		cr_expect(there, "nothing at %d:%d:%s", places[i].line, places[i].column, all_findings());
	}
}

/* A mistake in a parent does not hide those of its child. */
Test(load, mistakes_of_every_file_are_shown)
{
	put("user/parent.toml", "a = 1\n");
	cr_expect_eq(load_text("extends = \"./parent.toml\"\nb = 1\n"), -1);
	cr_expect(found(UNKNOWN, 1, 1, "`a`") && found(UNKNOWN, 2, 1, "`b`"), "%s", all_findings());
}

Test(load, many_mistakes_are_counted)
{
	char *text = aj_alloc(&arena, 300000), *at = text;
	for (int i = 0; i < 500; i++)
		at += sprintf(at, "x%d = 1\n", i);
	cr_expect_eq(load_text(text), -1);
	cr_expect_eq(diags.errors, 500);
	cr_expect_eq(diags.list.count, AJ_DIAGS_MAX);
	at = stpcpy(text, "lock = [");
	for (int i = 0; i < 14000; i++)
		at = stpcpy(at, "\"limits.memorx\",");
	strcpy(at, "]\n");
	clock_t before = clock();
	cr_expect_eq(load_text(text), -1);
	cr_expect_eq(diags.errors, 14000);
	cr_expect(found(UNKNOWN, 1, 9, "`limits.memorx`"), "%s", all_findings());
	/* It was more than a second while each was compared with all keys. */
	cr_expect_lt(clock() - before, CLOCKS_PER_SEC / 2, "%ld", (long)(clock() - before));
}

Test(load, forms_of_toml)
{
	OK(load_text("limits.wall = \"5s\"\nlimits.\"memory\" = 33554432\npython = { layer = false, \"imports\" = [] }\n"));
	IS("limits.wall", "\"5s\"");
	IS("limits.memory", "\"32M\"");
	IS("python.layer", "false");
	OK(load_text("\xef\xbb\xbf[limits]\r\nwall = \"5s\"\r\n"));
	IS("limits.wall", "\"5s\"");
	cr_expect_eq(loaded.at[aj_key_find(aj_policy_keys, "limits.wall") - aj_policy_keys].line, 2);
	OK(load_text("[limits]\nwall = 'none'\ncpu = \"10m\"\nmemory = \"none\"\npids = \"none\"\n"));
	cr_expect(loaded.policy.wall_ms == 0 && loaded.policy.cpu_ms == 600000 && loaded.policy.memory_bytes == 0 &&
	          loaded.policy.pids == 0);
	OK(load_text("lock = []\n[python]\n[limits]\n"));
}

/* Findings are valid UTF-8 whatever they quote and wherever they are cut. */
Test(load, findings_are_text)
{
	char long_[4000], text[5000];
	for (int shift = 0; shift < 4; shift++) {
		size_t at = (size_t)shift;
		memset(long_, 'x', at);
		for (; at < 3000; at += 2)
			memcpy(long_ + at, "\xc3\xa9", 2);
		long_[at] = '\0';
		static const char *const forms[] = { "\"%s\" = 1",
			                             "extends = \"%s\"",
			                             "lock = [\"%s\"]",
			                             "description = \"%s\"",
			                             "[network]\nmode = \"%s\"",
			                             "[process]\nenv = [\"A=1\", \"A=%s\"]",
			                             "[python]\nimports = [\"%s\"]" };
		for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
			snprintf(text, sizeof text, forms[i], long_);
			cr_expect_eq(load_text(text), -1);
			for (size_t j = 0; j < diags.list.count; j++) {
				const struct aj_diag *d = &diags.list.items[j];
				cr_expect_eq(aj_utf8_valid_prefix(d->message, strlen(d->message)), strlen(d->message), "%s", forms[i]);
				if (d->advice)
					cr_expect_eq(aj_utf8_valid_prefix(d->advice, strlen(d->advice)), strlen(d->advice), "%s",
					             forms[i]);
				cr_expect(!d->advice || !strstr(d->advice, "did you mean"), "%s: %s", forms[i], d->advice);
			}
		}
	}
	snprintf(text, sizeof text, "extends = \"locked\"\n[process]\nenv = [\"A=%s\"]", long_);
	REFUSED(load_text(text), LOCKED, 0, 0, "process.env");
	cr_expect_eq(aj_utf8_valid_prefix(diags.list.items[0].message, strlen(diags.list.items[0].message)),
	             strlen(diags.list.items[0].message));
}

/* --- chains --- */

Test(load, a_child_changes_what_it_names)
{
	put("user/a.toml", "description = \"a\"\nextends = \"snippet\"\n[limits]\nwall = \"20s\"\n[python]\nimports = [\"json\"]\n");
	put("user/b.toml",
	    "extends = \"./a.toml\"\n[limits]\nmemory = \"1G\"\n[python]\nextend_imports = [\"re\"]\n[process]\ndeny_syscalls = [\"ipc\"]\n");
	put("user/c.toml",
	    "extends = \"./b.toml\"\n[python]\nextend_imports = [\"math\"]\n[process]\nextend_deny_syscalls = [\"memfd\"]\n");
	OK(load_file("user/c.toml"));
	IS("limits.wall", "\"20s\"");
	IS("limits.memory", "\"1G\"");
	IS("python.imports", "[\"json\", \"re\", \"math\"]");
	IS("process.deny_syscalls", "[\"ipc\", \"memfd\"]");
	IS("description", "\"\"");
	cr_expect_eq(loaded.policy.files.count, 4);
	cr_expect(strstr(loaded.policy.files.items[0].file, "/c.toml") && strstr(loaded.policy.files.items[1].file, "/b.toml"));
	cr_expect_str_eq(loaded.policy.files.items[3].file, "built-in snippet.toml");
	size_t k = (size_t)(aj_key_find(aj_policy_keys, "python.imports") - aj_policy_keys);
	cr_assert_eq(loaded.items_at[k].count, 3);
	cr_expect(strstr(loaded.items_at[k].items[0].file, "/a.toml") && strstr(loaded.items_at[k].items[2].file, "/c.toml"));
	OK(load_file("user/a.toml"));
	IS("description", "\"a\"");
}

Test(load, circles)
{
	put("user/a.toml", "extends = \"./b.toml\"\n");
	put("user/b.toml", "\n\nextends = \"./a.toml\"\n");
	REFUSED(load_file("user/a.toml"), EXTENDS, 0, 0, "circular");
	put("user/a.toml", "extends = \"./a.toml\"\n");
	REFUSED(load_file("user/a.toml"), EXTENDS, 1, 1, "circular");
	put("site/x.toml", "extends = \"y\"\n");
	put("site/y.toml", "\nextends = \"x\"\n");
	REFUSED(load_name("x"), EXTENDS, 0, 0, "circular");
	put("user/a.toml", aj_printf(&arena, "extends = \"%s\"\n", in("user/a.toml")));
	REFUSED(load_file("user/a.toml"), EXTENDS, 0, 0, "circular");
}

static void chain_of(int length)
{
	for (int i = 0; i < length; i++)
		put(aj_printf(&arena, "user/%d.toml", i),
		    i + 1 < length ? aj_printf(&arena, "extends = \"./%d.toml\"\n# %d\n", i + 1, i) : "[limits]\nwall = \"7s\"\n");
}

Test(load, long_chains)
{
	chain_of(17);
	OK(load_file("user/0.toml"));
	IS("limits.wall", "\"7s\"");
	chain_of(18);
	REFUSED(load_file("user/0.toml"), EXTENDS, 0, 0, "more than 16");
	chain_of(10000);
	REFUSED(load_file("user/0.toml"), EXTENDS, 0, 0, "more than 16");
}

Test(load, a_name_hides_the_next_of_that_name)
{
	put("site/snippet.toml", "extends = \"snippet\"\n[limits]\nwall = \"11s\"\n");
	OK(load_name("snippet"));
	IS("limits.wall", "\"11s\"");
	cr_expect_eq(loaded.policy.files.count, 2);
	cr_expect(loaded.policy.imports.count > 20, "and what it hides is there");
	/* three of a name */
	put("more/snippet.toml", "extends = \"snippet\"\n[limits]\npids = 9\n");
	OK(load_name("snippet"));
	IS("limits.wall", "\"11s\"");
	IS("limits.pids", "9");
	cr_expect_eq(loaded.policy.files.count, 3);
	/* a built-in policy that extends the name gets the site's */
	OK(load_name("minimal"));
	IS("limits.pids", "9");
	cr_expect_eq(load_name("../user/p"), -1);
	cr_expect_eq(load_name("snippet.toml"), -1);
	cr_expect_eq(load_name("site/snippet"), -1);
	cr_expect_eq(load_name(in("site/snippet.toml")), -1);
	cr_expect_eq(load_name("http://example.org/x"), -1);
	cr_expect_eq(load_name("."), -1);
	cr_expect_eq(load_name(""), -1);
	cr_expect_eq(load_name("-x"), -1);
}

/* --- locks --- */

Test(load, locks)
{
	static const struct {
		const char *lock, *child;
		bool allowed;
	} cases[] = {
		{ "limits.memory", "[limits]\nmemory = \"1G\"", false },
		{ "limits.memory", "[limits]\nmemory = \"none\"", false },
		{ "limits.memory", "[limits]\nmemory = \"256M\"", true },
		{ "limits.memory", "[limits]\nmemory = \"512M\"", true },
		{ "limits.memory", "[limits]\nmemory = 536870913", false },
		{ "limits.memory", "limits.memory = \"1G\"", false },
		{ "limits.memory", "limits = { memory = \"1G\" }", false },
		{ "limits.memory", "[limits]\npids = 1000", true },
		{ "limits", "[limits]\npids = 1000", false },
		{ "limits", "[limits]\nenforce = \"strict\"\npids = 1\nwall = \"1s\"", true },
		{ "limits", "[limits]\nwall = \"31s\"", false },
		{ "limits", "[limits]\nwall = \"none\"", false },
		{ "limits.cpu", "[limits]\nwall = \"31s\"", false },
		{ "limits.cpu", "[limits]\nwall = \"31s\"\ncpu = \"30s\"", true },
		{ "limits.cpu", "[limits]\nwall = \"none\"", false },
		{ "limits.cpu", "[limits]\nwall = \"10s\"", true },
		{ "limits.cpu", "[limits]\ncpu = \"31s\"", false },
		{ "limits.cpu", "[limits]\ncpu = \"none\"", false },
		{ "limits.cpu", "[limits]\ncpu = \"wall\"\nwall = \"31s\"", false },
		{ "python", "[python]\nlayer = false", false },
		{ "python", "[python]\nextend_imports = [\"pty\"]", false },
		{ "python", "[python]\nextend_imports = []", true },
		{ "python", "[python]\nimports = [\"json\", \"json\"]", true },
		{ "python", "[python]\nimports = [\"json\", \"pty\"]", false },
		{ "python", "[python]\nimports = [\"json.*\"]", false },
		{ "python", "[python]\nimports = []", true },
		{ "python", "[python]\nbuiltins = \"full\"", false },
		{ "python", "[python]\nbuiltins = \"minimal\"", true },
		{ "filesystem", "[filesystem]\nrootfs = \"data\"", false },
		{ "filesystem", "[filesystem]\nbinds = [\"/srv/a\"]", false },
		{ "filesystem", "[filesystem]\nmasks = [\"/x\"]", true },
		{ "filesystem", "[filesystem]\nworkspace = \"read-only\"", false },
		{ "network", "[network]\nmode = \"loopback\"", false },
		{ "network", "[network]\nmode = \"allow\"\nallow = [\"a.b:1\"]", false },
		{ "process", "[process]\nuid = 7", false },
		{ "process", "[process]\nenv = [\"A=1\"]", false },
		{ "process", "[process]\ndeny_syscalls = [\"ipc\"]", true },
		{ "audit", "[audit]\nrequired = true", true },
		{ "audit", "[audit]\non_failure = \"flag\"", false },
		{ "*", "[require]\nwalls = [\"network\"]", true },
		{ "*", "description = \"other words\"", true },
		{ "*", "[output]\ntotal = \"128M\"", false },
		{ "*", "lock = []", true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		put("user/parent.toml", aj_printf(&arena, "lock = [\"%s\"]\nextends = \"snippet\"\n", cases[i].lock));
		int r = load_text(aj_printf(&arena, "extends = \"./parent.toml\"\n%s\n", cases[i].child));
		cr_expect_eq(r, cases[i].allowed ? 0 : -1, "lock %s: %s:%s", cases[i].lock, cases[i].child, all_findings());
		if (!cases[i].allowed) {
			cr_expect(found(LOCKED, 0, 0, "parent.toml locks that key"), "%s", all_findings());
			cr_expect(diags.list.items[0].at.line >= 2 && strstr(diags.list.items[0].at.file, "/p.toml"), "%s",
			          all_findings());
		}
		/* and the same two levels further down */
		put("user/between.toml", "extends = \"./parent.toml\"\n[limits]\nopen_files = 32\n");
		r = load_text(aj_printf(&arena, "extends = \"./between.toml\"\n%s\n", cases[i].child));
		cr_expect_eq(r, cases[i].allowed ? 0 : -1, "two levels, lock %s: %s:%s", cases[i].lock, cases[i].child, all_findings());
	}
}

/* Tightening lists are loosened by taking away from them. */
Test(load, locks_of_what_tightens)
{
	static const struct {
		const char *child;
		bool allowed;
	} cases[] = {
		{ "[filesystem]\nmasks = []", false },
		{ "[filesystem]\nmasks = [\"/w/.git\"]", true },
		{ "[filesystem]\nmasks = [\"/w\"]", true },
		{ "[filesystem]\nmasks = [\"/w/.git/hooks\"]", false },
		{ "[filesystem]\nmasks = [\"/w/.gitx\"]", false },
		{ "[filesystem]\nextend_masks = [\"/x\"]", true },
		{ "[process]\ndeny_syscalls = []", false },
		{ "[process]\ndeny_syscalls = [\"memfd\"]", false },
		{ "[process]\ndeny_syscalls = [\"memfd\", \"ipc\"]", true },
		{ "[process]\nextend_deny_syscalls = [\"memfd\"]", true },
		{ "[require]\nwalls = []", false },
		{ "[require]\nwalls = [\"landlock\", \"network\"]", true },
		{ "[require]\nwalls = [\"landlock\"]", false },
		{ "[audit]\nrequired = false", false },
	};
	put("user/parent.toml", "lock = [\"*\"]\n[filesystem]\nmasks = [\"/w/.git\"]\n[process]\ndeny_syscalls = [\"ipc\"]\n"
	                        "[require]\nwalls = [\"network\"]\n[audit]\nrequired = true\n");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_expect_eq(load_text(aj_printf(&arena, "extends = \"./parent.toml\"\n%s\n", cases[i].child)),
		             cases[i].allowed ? 0 : -1, "%s:%s", cases[i].child, all_findings());
}

/* A bind that lies inside another hides what is there: to drop it would show that. */
Test(load, locks_of_binds)
{
	static const struct {
		const char *binds;
		bool allowed;
	} cases[] = {
		{ "", true },
		{ "\"/srv/p:/w:rw\", \"/srv/empty:/w/keys\"", true },
		{ "\"/srv/p:/w\", \"/srv/empty:/w/keys\"", true },
		{ "\"/srv/empty:/w/keys\"", true },
		{ "\"/srv/p:/w\"", false },
		{ "\"/srv/p:/w:rw\"", false },
		{ "\"/srv/p:/w\", \"/srv/other:/w/keys\"", false },
		{ "\"/srv/p:/w\", \"/srv/empty:/w/keys:rw\"", false },
	};
	put("user/parent.toml", "lock = [\"filesystem\"]\n[filesystem]\nbinds = [\"/srv/p:/w:rw\", \"/srv/empty:/w/keys\"]\n");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_expect_eq(load_text(aj_printf(&arena, "extends = \"./parent.toml\"\n[filesystem]\nbinds = [%s]\n", cases[i].binds)),
		             cases[i].allowed ? 0 : -1, "%s:%s", cases[i].binds, all_findings());
}

Test(load, a_locked_value_may_be_tightened_once_and_stays_so)
{
	put("user/a.toml", "lock = [\"limits.memory\"]\n[limits]\nmemory = \"1G\"\n");
	put("user/b.toml", "extends = \"./a.toml\"\n[limits]\nmemory = \"512M\"\n");
	OK(load_text("extends = \"./b.toml\"\n[limits]\nmemory = \"256M\"\n"));
	REFUSED(load_text("extends = \"./b.toml\"\n[limits]\nmemory = \"1G\"\n"), LOCKED, 3, 1, "than \"512M\"");
}

Test(load, options_and_locks)
{
	static const struct {
		const char *option, *key, *value;
		bool request_only, allowed;
	} cases[] = {
		{ "--timeout", "limits.wall", "5s", false, true },
		{ "--timeout", "limits.wall", "11s", false, false },
		{ "--timeout", "limits.wall", "none", false, false },
		{ "--memory", "limits.memory", "64M", false, true },
		{ "--memory", "limits.memory", "1G", false, false },
		{ "--pids", "limits.pids", "9", false, false },
		{ "--limits", "limits.enforce", "strict", false, true },
		{ "--layer", "python.layer", "false", false, false },
		{ "--layer", "python.layer", "true", false, true },
		{ "--builtins", "python.builtins", "full", false, false },
		{ "--builtins", "python.builtins", "minimal", false, true },
		{ "--allow-import", "python.imports", "pty", false, false },
		{ "--allow-import", "python.imports", "json", false, true },
		{ "--network", "network.mode", "loopback", false, false },
		{ "--network", "network.mode", "none", false, true },
		{ "--proc", "filesystem.proc", "true", false, false },
		{ "--env", "process.env", "A=1", true, false },
		{ "--bind", "filesystem.binds", "/srv/a:/a", true, false },
		{ "--file", "filesystem.binds", "/srv/a:/input/a", true, false },
		{ "--rootfs", "filesystem.rootfs", "/srv/tree", true, false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ask.settings.count = 0;
		option(cases[i].option, cases[i].key, cases[i].value, cases[i].request_only);
		int r = load_name("locked");
		cr_expect_eq(r, cases[i].allowed ? 0 : -1, "%s %s:%s", cases[i].option, cases[i].value, all_findings());
		if (!cases[i].allowed)
			cr_expect(found(LOCKED, 0, 0, "locked.toml locks that key") &&
			              strcmp(diags.list.items[0].at.file, cases[i].option) == 0,
			          "%s", all_findings());
		/* a site's lock does the same to an option */
		r = site_text("[policies]\nlock = [\"*\"]\n");
		cr_assert_eq(r, 0, "%s", all_findings());
		bool tighter = cases[i].allowed || strcmp(cases[i].value, "11s") == 0 || strcmp(cases[i].value, "9") == 0;
		cr_expect_eq(load_name("snippet"), tighter ? 0 : -1, "site: %s %s:%s", cases[i].option, cases[i].value, all_findings());
		cr_expect_eq(load_name("locked"), cases[i].allowed ? 0 : -1);
	}
}

Test(load, every_option_is_judged)
{
	option("--memory", "limits.memory", "1G", false);
	option("--timeout", "limits.wall", "1h", false);
	option("--env", "process.env", "A=1", true);
	option("--pids", "limits.pids", "4", false);
	cr_expect_eq(load_name("locked"), -1);
	cr_expect(found(LOCKED, 0, 0, "limits.memory") && found(LOCKED, 0, 0, "limits.wall") && found(LOCKED, 0, 0, "process.env"),
	          "%s", all_findings());
	cr_expect_not(found(LOCKED, 0, 0, "limits.pids"));
}

/* A locked processor limit that follows the clock cannot be moved by moving the clock. */
Test(load, cpu_follows_wall)
{
	OK(load_text("[limits]\nwall = \"7s\"\n"));
	cr_expect_eq(loaded.policy.cpu_ms, 7000);
	OK(load_text("[limits]\nwall = \"none\"\n"));
	cr_expect_eq(loaded.policy.cpu_ms, 0);
	option("--timeout", "limits.wall", "3s", false);
	OK(load_text("[limits]\nwall = \"7s\"\n"));
	cr_expect_eq(loaded.policy.cpu_ms, 3000);
	OK(load_text("lock = [\"limits.cpu\"]\n[limits]\nwall = \"7s\"\n"));
	ask.settings.items[0].value = "8s";
	REFUSED(load_text("lock = [\"limits.cpu\"]\n[limits]\nwall = \"7s\"\n"), LOCKED, 0, 0, "limits.cpu");
	OK(load_text("lock = [\"limits.cpu\"]\n[limits]\nwall = \"7s\"\ncpu = \"7s\"\n"));
	cr_expect_eq(loaded.policy.cpu_ms, 7000);
	cr_expect_eq(loaded.policy.wall_ms, 8000);
}

/* --- the site --- */

Test(load, site_locks_bind_whoever_is_not_the_site)
{
	OK(site_text("[policies]\npath = [\"/nonexistent\"]\nlock = [\"limits.memory\", \"network\"]\n"));
	*AJ_PUSH(&arena, &site.path) = in("site");
	const char *loose = "extends = \"snippet\"\n[limits]\nmemory = \"1G\"\n";
	put("site/loose.toml", loose);
	OK(load_name("loose"));
	IS("limits.memory", "\"1G\"");
	REFUSED(load_text(loose), LOCKED, 3, 1, "agentjail.toml:3:1 locks that key");
	/* it may start from the site's, and go no further */
	OK(load_text("extends = \"loose\"\n[limits]\npids = 100\n"));
	IS("limits.memory", "\"1G\"");
	REFUSED(load_text("extends = \"loose\"\n[limits]\nmemory = \"2G\"\n"), LOCKED, 3, 1, "limits.memory");
	REFUSED(load_text("[network]\nmode = \"host\"\n"), LOCKED, 2, 1, "network.mode");
	/* a file of the user that a file of the user extends is no site's either */
	put("user/parent.toml", loose);
	REFUSED(load_text("extends = \"./parent.toml\"\n"), LOCKED, 3, 1, "limits.memory");
	REFUSED(load_text(aj_printf(&arena, "extends = \"%s\"\n", in("user/parent.toml"))), LOCKED, 3, 1, "limits.memory");
	/* by its path even the site's own file is a file by its path */
	REFUSED(load_file("site/loose.toml"), LOCKED, 3, 1, "limits.memory");
}

Test(load, the_sites_proxy_is_every_policys)
{
	OK(site_text("[network]\nupstream_proxy = \"http://proxy.example:3128\"\n"));
	OK(load_name("command"));
	cr_expect_str_eq(loaded.policy.upstream_proxy, "http://proxy.example:3128");
	OK(site_text("[network]\nupstream_proxy = \"http://[2001:db8::1]:3128\"\n"));
	OK(site_text(""));
	OK(load_text(""));
	cr_expect_str_eq(loaded.policy.upstream_proxy, "");
	REFUSED(load_text("[network]\nupstream_proxy = \"http://proxy.example:3128\"\n"), UNKNOWN, 2, 1, "upstream_proxy");
}

Test(load, no_files_by_path)
{
	OK(site_text("[policies]\nfiles = false\n"));
	REFUSED(load_text(""), LOCKED, 0, 0, "policies.files");
	OK(load_name("snippet"));
}

Test(load, site_mistakes)
{
	static const struct {
		const char *text, *code;
		int line, column;
		const char *words;
	} cases[] = {
		{ "[polices]", UNKNOWN, 1, 2, "did you mean `policies`" },
		{ "[policies]\nlcok = []", UNKNOWN, 2, 1, "did you mean `policies.lock`" },
		{ "[policies]\nlock = \"*\"", TYPE, 2, 1, "put it in brackets" },
		{ "[policies]\nlock = [\"network\", \"limits.memroy\"]", UNKNOWN, 2, 0, "did you mean `limits.memory`" },
		{ "[policies]\nlock = [\"network\\u0000\"]", VALUE, 2, 9, "NUL" },
		{ "[policies]\npath = [\"policies\"]", VALUE, 2, 9, "not an absolute path" },
		{ "[policies]\npath = [\"/etc/../tmp\"]", VALUE, 2, 9, "not an absolute path" },
		{ "[policies]\nextend_path = [\"/tmp\"]", UNKNOWN, 2, 1, "" },
		{ "[policies]\n\"lock.x\" = []", UNKNOWN, 2, 1, "" },
		{ "\"policies.files\" = true", UNKNOWN, 1, 1, "" },
		{ "policies = 1", TYPE, 1, 1, "is a section" },
		{ "[[policies]]\nfiles = false", TYPE, 1, 0, "is a section" },
		{ "[limits]\nwall = \"1s\"", UNKNOWN, 1, 2, "below [ceilings]" },
		{ "lock = [\"*\"]", UNKNOWN, 1, 1, "did you mean `policies.lock`" },
		{ "ceilings = 1", TYPE, 1, 1, "is a section" },
		{ "[ceilings]\nlimits = 1", TYPE, 2, 1, "[ceilings.limits]" },
		{ "[ceilings]\ndescription = \"x\"", TYPE, 2, 1, "[ceilings.limits]" },
		{ "[ceilings.limits]\nmemroy = \"1G\"", UNKNOWN, 2, 1, "did you mean `ceilings.limits.memory`" },
		{ "[ceilings.limit]\nmemory = \"1G\"", UNKNOWN, 0, 0, "did you mean `ceilings.limits.memory`" },
		{ "[ceilings.limits]\nmemory = \"1\"", VALUE, 2, 1, "out of range" },
		{ "[ceilings.limits]\nmemory = true", TYPE, 2, 1, "a size" },
		{ "[ceilings.limits]\nextend_pids = 1", UNKNOWN, 2, 1, "" },
		{ "[ceilings.filesystem]\nrootfs = \"default\"", VALUE, 2, 1, "have no order" },
		{ "[ceilings.process]\nuid = 1000", VALUE, 2, 1, "have no order" },
		{ "[ceilings.limits]\ncpu = \"wall\"", VALUE, 2, 1, "limits.wall" },
		{ "[rootfs]\npath = \"trees\"", VALUE, 2, 1, "not an absolute path" },
		{ "[audit]\ndestination = \"file:x\"", VALUE, 2, 1, "`audit.destination`" },
		{ "[audit]\ndestination = \"\"", VALUE, 2, 1, "`audit.destination`" },
		{ "[default]\nexec = \"../x\"", VALUE, 2, 1, "not a name" },
		{ "[network]\nupstream_proxy = \"https://proxy.example:3128\"", VALUE, 2, 1, "not http://HOST:PORT" },
		{ "[network]\nupstream_proxy = \"http://proxy.example\"", VALUE, 2, 1, "without a port" },
		{ "[network]\nupstream_proxy = \"http://*.example.org:3128\"", VALUE, 2, 1, "not one host" },
		{ "[network]\nupstream_proxy = \"http://10.0.0.0/8:3128\"", VALUE, 2, 1, "not one host" },
		{ "[network]\nupstream_proxy = \"http://u:p@proxy.example:3128\"", VALUE, 2, 1, "network.upstream_proxy_credentials" },
		{ "[network]\nupstream_proxy = \"http://u:p@proxy.example:3128\"", VALUE, 2, 1, "\"http://...@proxy.example:3128\"" },
		{ "[network]\nupstream_proxy_credentials = \"u:p\"", VALUE, 2, 1, "not file:/PATH or command:TEXT" },
		{ "[network]\nupstream_proxy_credentials = \"file:p\"", VALUE, 2, 1, "not file:/PATH or command:TEXT" },
		{ "[network]\nupstream_proxy_credentials = \"command:\"", VALUE, 2, 1, "not file:/PATH or command:TEXT" },
		{ "[network]\nmode = \"none\"", UNKNOWN, 2, 1, "below [ceilings]" },
		{ "[policies", SYNTAX, 1, 0, "" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		diags = (struct aj_diags){ .arena = &arena };
		if (access(AJ_SITE_FILE, F_OK) == 0)
			cr_skip("this machine has a " AJ_SITE_FILE);
		int r = aj_site_load(&site, put("agentjail.toml", cases[i].text), &diags);
		cr_expect_eq(r, -1, "accepted: %s", cases[i].text);
		cr_expect(found(cases[i].code, cases[i].line, cases[i].column, cases[i].words), "%s\nno %s at %d:%d with `%s` in:%s",
		          cases[i].text, cases[i].code, cases[i].line, cases[i].column, cases[i].words, all_findings());
	}
}

Test(load, ceilings_lower_what_is_built_in)
{
	OK(site_text("[ceilings.limits]\nwall = \"10s\"\nmemory = \"1G\"\npids = 16\n[ceilings.network]\nmode = \"none\"\n"
	             "[ceilings.python]\nimports = [\"json\", \"collections.*\"]\n"
	             "[ceilings.filesystem]\nmasks = [\"/w/.git\"]\n[ceilings.process]\ndeny_syscalls = [\"ipc\"]\n[ceilings.require]\nwalls = [\"network\"]\n"));
	OK(load_name("snippet"));
	IS("limits.wall", "\"10s\"");
	IS("limits.cpu", "\"10s\"");
	IS("limits.memory", "\"512M\"");
	IS("limits.pids", "16");
	IS("python.imports", "[\"collections\", \"collections.abc\", \"json\"]");
	IS("filesystem.masks", "[\"/w/.git\"]");
	IS("process.deny_syscalls", "[\"ipc\"]");
	IS("require.walls", "[\"network\"]");
	cr_expect_eq(loaded.at[aj_key_find(aj_policy_keys, "limits.wall") - aj_policy_keys].line, 2, "the ceiling is where it comes from");
	OK(load_name("command"));
	IS("limits.wall", "\"10s\"");
	IS("limits.memory", "\"1G\"");
	/* a file is told, not lowered; and what it inherits from a built-in policy is lowered */
	REFUSED(load_text("[limits]\nwall = \"11s\"\n"), CEILING, 2, 1, "ceiling of \"10s\"");
	REFUSED(load_text("[limits]\nmemory = \"none\"\n"), CEILING, 2, 1, "limits.memory");
	REFUSED(load_text("[python]\nimports = [\"json\", \"pty\"]\n"), CEILING, 2, 1, "python.imports");
	REFUSED(load_text("[filesystem]\nmasks = [\"/other\"]\n"), CEILING, 2, 1, "filesystem.masks");
	REFUSED(load_text("[process]\ndeny_syscalls = [\"memfd\"]\n"), CEILING, 2, 1, "process.deny_syscalls");
	OK(load_text("extends = \"snippet\"\n[python]\nextend_imports = [\"json\"]\n[filesystem]\nextend_masks = [\"/x\"]\n"
	             "[process]\nextend_deny_syscalls = [\"memfd\"]\n"));
	IS("filesystem.masks", "[\"/w/.git\", \"/x\"]");
	OK(load_text("[limits]\nwall = \"9s\"\n[python]\nimports = [\"collections.abc\"]\n[filesystem]\nmasks = [\"/w\"]\n"));
	/* the site's own files, too, are told */
	put("site/loose.toml", "[limits]\nwall = \"11s\"\n");
	REFUSED(load_name("loose"), CEILING, 2, 1, "limits.wall");
}

Test(load, ceilings_refuse_options)
{
	static const struct {
		const char *option, *key, *value;
		bool request_only, allowed;
	} cases[] = {
		{ "--timeout", "limits.wall", "10s", false, true },
		{ "--timeout", "limits.wall", "11s", false, false },
		{ "--timeout", "limits.wall", "none", false, false },
		{ "--memory", "limits.memory", "1G", false, true },
		{ "--memory", "limits.memory", "1073741825", false, false },
		{ "--network", "network.mode", "loopback", false, true },
		{ "--network", "network.mode", "host", false, false },
		{ "--allow-import", "python.imports", "json", false, true },
		{ "--allow-import", "python.imports", "pty", false, false },
		{ "--env", "process.env", "A=1", true, true },
		{ "--env", "process.env", "A=2", true, false },
		{ "--bind", "filesystem.binds", "/srv/a:/a", true, true },
		{ "--bind", "filesystem.binds", "/srv/a:/a:rw", true, false },
		{ "--bind", "filesystem.binds", "/srv/b:/a", true, false },
	};
	OK(site_text("[ceilings.limits]\nwall = \"10s\"\nmemory = \"1G\"\n[ceilings.network]\nmode = \"loopback\"\n"
	             "[ceilings.python]\nimports = [\"json\"]\n[ceilings.process]\nenv = [\"A=1\"]\n[ceilings.filesystem]\nbinds = [\"/srv/a:/a\"]\n"));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ask.settings.count = 0;
		option(cases[i].option, cases[i].key, cases[i].value, cases[i].request_only);
		const char *policy = strcmp(cases[i].key, "network.mode") == 0 ? "command" : "snippet";
		cr_expect_eq(load_name(policy), cases[i].allowed ? 0 : -1, "%s %s:%s", cases[i].option, cases[i].value, all_findings());
		cr_expect_eq(diags.errors, !cases[i].allowed, "%s", all_findings());
	}
}

/* A processor limit below a ceiling stays there when the clock moves. */
Test(load, ceiling_of_cpu)
{
	OK(site_text("[ceilings.limits]\ncpu = \"5s\"\n"));
	OK(load_name("snippet"));
	cr_expect_eq(loaded.policy.cpu_ms, 5000);
	cr_expect_eq(loaded.policy.wall_ms, 30000);
	option("--timeout", "limits.wall", "1h", false);
	OK(load_name("snippet"));
	cr_expect_eq(loaded.policy.cpu_ms, 5000);
	cr_expect_eq(loaded.policy.wall_ms, 3600000);
	ask.settings.items[0].value = "2s";
	OK(load_name("snippet"));
	cr_expect_leq(loaded.policy.cpu_ms, 5000);
	REFUSED(load_text("[limits]\nwall = \"10s\"\ncpu = \"6s\"\n"), CEILING, 3, 1, "limits.cpu");
}

/* The site says where workspaces lie: a word of a policy comes down to that, and a folder beyond it is refused. */
Test(load, a_ceiling_of_places)
{
	OK(load_name("offline-build"));
	IS("filesystem.workspace_under", "[\"@default\"]");
	OK(site_text("[ceilings.filesystem]\nworkspace_under = [\"/srv/agents\", \"/srv/b\"]\n"));
	OK(load_name("offline-build"));
	IS("filesystem.workspace_under", "[\"/srv/agents\", \"/srv/b\"]");
	OK(load_text("extends = \"offline-build\"\n[filesystem]\nworkspace_under = [\"/srv/agents/x\"]\n"));
	IS("filesystem.workspace_under", "[\"/srv/agents/x\"]");
	REFUSED(load_text("[filesystem]\nworkspace_under = [\"/srv\"]\n"), CEILING, 2, 1, "/srv/agents");
	REFUSED(load_text("[filesystem]\nextend_workspace_under = [\"@anywhere\"]\n"), CEILING, 2, 1, "/srv/agents");
	ask.home = "/srv/agents";
	OK(load_text("[filesystem]\nworkspace_under = [\"~/x\"]\n"));
	ask.home = "/home/u";
	REFUSED(load_text("[filesystem]\nworkspace_under = [\"~/x\"]\n"), CEILING, 2, 1, "/srv/agents");
	cr_expect_eq(site_text("[ceilings.filesystem]\nworkspace_under = [\"~/x\"]\n"), -1); /* which is for all users */
	cr_expect(found(VALUE, 2, 20, "`~` is not expanded"), "%s", all_findings());
	OK(site_text("[ceilings.filesystem]\nworkspace_under = [\"@default\", \"/srv\"]\n"));
	OK(load_text("[filesystem]\nworkspace_under = [\"@default\", \"/srv/b\"]\n"));
}

Test(load, a_ceiling_of_none_is_none)
{
	OK(site_text("[ceilings.limits]\nmemory = \"none\"\nwall = \"none\"\n"));
	OK(load_text("[limits]\nmemory = \"none\"\nwall = \"none\"\n"));
	cr_expect(loaded.policy.memory_bytes == 0 && loaded.policy.wall_ms == 0);
}

/* --- host paths of policy files --- */

Test(load, host_paths_start_at_the_home_or_at_the_files_folder)
{
	ask.home = "/home/u";
	OK(load_text("[filesystem]\n"
	             "binds = [\"~/a:/a:rw\", \"~:/home\", \"~/b/../c\", \"x:/x\", \"../y:/y:ro\", \".:/here\", \"/z:/z\"]\n"));
	IS("filesystem.binds", aj_printf(&arena,
	                                 "[\"/home/u/a:/a:rw\", \"/home/u:/home\", \"/home/u/c\", \"%s/user/x:/x\", \"%s/y:/y:ro\", "
	                                 "\"%s/user:/here\", \"/z:/z\"]",
	                                 dir, dir, dir));
	OK(load_text("extends = \"command\"\nfilesystem.sockets = [\"~/s\", \"./s\"]\n"));
	IS("filesystem.sockets", aj_printf(&arena, "[\"/home/u/s\", \"%s/user/s\"]", dir));
	OK(load_text("extends = \"offline-build\"\nfilesystem.workspace_under = [\"~/src\", \"../w\", \"@default\", \"/\"]\n"));
	IS("filesystem.workspace_under", aj_printf(&arena, "[\"/home/u/src\", \"%s/w\", \"@default\", \"/\"]", dir));
	/* the folder of the file that holds the item, not of the one that extends it, and not of a symlink to that folder */
	put("more/base.toml", "filesystem.binds = [\"d:/d\"]\n");
	OK(load_text("extends = \"base\"\nfilesystem.extend_binds = [\"d:/e\"]\n"));
	IS("filesystem.binds", aj_printf(&arena, "[\"%s/more/d:/d\", \"%s/user/d:/e\"]", dir, dir));
	cr_assert_eq(symlink("site", in("link")), 0);
	put("site/p.toml", "filesystem.binds = [\"../d:/d\"]\n");
	OK(load_file("link/p.toml"));
	IS("filesystem.binds", aj_printf(&arena, "[\"%s/d:/d\"]", dir));
	cr_assert_eq(mkdir(in("a:b"), 0755), 0);
	put("a:b/p.toml", "filesystem.binds = [\"d\"]\n");
	REFUSED(load_file("a:b/p.toml"), VALUE, 1, 21, "colon");
}

/* Locks and the working directory's policy compare the paths that are meant. */
Test(load, host_paths_loosen_nothing)
{
	ask.home = "/home/u";
	put("site/base.toml",
	    "extends = \"command\"\nlock = [\"filesystem\"]\n[filesystem]\nsockets = [\"/home/u/a\", \"~/b\"]\nbinds = [\"~/d:/d\"]\n");
	OK(load_text("extends = \"base\"\nfilesystem.sockets = [\"~/a\"]\nfilesystem.binds = [\"~/d:/d\"]\n"));
	REFUSED(load_text("extends = \"base\"\nfilesystem.sockets = [\"~/c\"]\n"), LOCKED, 2, 12, "/home/u/c");
	REFUSED(load_text("extends = \"base\"\nfilesystem.binds = [\"~/a/../e:/d\"]\n"), LOCKED, 2, 12, "/home/u/e:/d");
	ask.local = in("user/" AJ_LOCAL_FILE);
	ask.local_asked = true;
	static const struct {
		const char *text;
		bool allowed;
	} cases[] = {
		{ "filesystem.sockets = [\"~/b\"]\n", true },
		{ "filesystem.sockets = [\"../../../home/u/a\"]\n", true },
		{ "filesystem.sockets = [\"~/b\", \"./b\"]\n", false },
		{ "filesystem.sockets = [\"~\"]\n", false },
		{ "filesystem.binds = [\"~/d:/d\"]\n", true },
		{ "filesystem.binds = [\"./d:/d\"]\n", false },
		{ "filesystem.workspace_under = [\"~\"]\n", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		put("user/" AJ_LOCAL_FILE, cases[i].text);
		cr_expect_eq(load_name("base"), cases[i].allowed ? 0 : -1, "%s:%s", cases[i].text, all_findings());
		cr_expect(cases[i].allowed || found(TIGHTEN_ONLY, 1, 12, ""), "%s:%s", cases[i].text, all_findings());
	}
	/* a writable bind by `~` holds the working directory's policy, too */
	ask.home = dir;
	put("site/base.toml", "extends = \"command\"\nfilesystem.binds = [\"~/user:/d:rw\"]\n");
	put("user/" AJ_LOCAL_FILE, "");
	REFUSED(load_name("base"), TRUST, 0, 0, "may write");
}

/* --- the working directory's policy --- */

Test(load, local_policies_tighten)
{
	static const struct {
		const char *text, *code;
		int line;
	} cases[] = {
		{ "", NULL, 0 },
		{ "[limits]\nwall = \"1s\"\nmemory = \"64M\"\n[python]\nimports = []\nbuiltins = \"minimal\"\n", NULL, 0 },
		{ "[process]\nextend_deny_syscalls = [\"ipc\"]\n[require]\nwalls = [\"network\"]\n", NULL, 0 },
		/* what a program finds there stays: a test that is hidden does not fail */
		{ "[filesystem]\nmasks = [\"/w\"]\n", TIGHTEN_ONLY, 2 },
		{ "[filesystem]\nextend_masks = [\"/w\"]\n", TIGHTEN_ONLY, 2 },
		{ "[filesystem]\nmasks = []\n", NULL, 0 },
		{ "description = \"mine\"\nlock = [\"*\"]\n", NULL, 0 },
		{ "[limits]\nwall = \"31s\"\n", TIGHTEN_ONLY, 2 },
		{ "limits.wall = \"none\"\n", TIGHTEN_ONLY, 1 },
		{ "[python]\nextend_imports = [\"pty\"]\n", TIGHTEN_ONLY, 2 },
		{ "[python]\nimports = [\"pty\"]\n", TIGHTEN_ONLY, 2 },
		{ "[python]\nlayer = false\n", TIGHTEN_ONLY, 2 },
		{ "[network]\nmode = \"host\"\n", TIGHTEN_ONLY, 2 },
		{ "[filesystem]\nrootfs = \"data\"\n", TIGHTEN_ONLY, 2 },
		{ "[filesystem]\nbinds = [\"/srv/a:/a\"]\n", TIGHTEN_ONLY, 2 },
		{ "[process]\nuid = 12\n", TIGHTEN_ONLY, 2 },
		{ "[process]\nenv = [\"A=1\"]\n", TIGHTEN_ONLY, 2 },
		{ "extends = \"command\"\n", TIGHTEN_ONLY, 1 },
		{ "extends = \"snippet\"\n", TIGHTEN_ONLY, 1 },
		{ "[limts]\n", UNKNOWN, 1 },
		{ "[limits]\nwall = 5\n", TYPE, 2 },
		{ "[", SYNTAX, 1 },
	};
	ask.local = in("user/" AJ_LOCAL_FILE);
	OK(load_name("snippet")); /* where there is none */
	cr_expect_eq(loaded.local, AJ_LOCAL_NONE);
	ask.local_asked = true;
	REFUSED(load_name("snippet"), TRUST, 0, 0, AJ_LOCAL_FILE);
	site.local = true;
	ask.local_asked = false;
	OK(load_name("snippet"));
	cr_expect_eq(loaded.policy.files.count, 1);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		put("user/" AJ_LOCAL_FILE, cases[i].text);
		cr_expect_eq(load_name("snippet"), cases[i].code ? -1 : 0, "%s:%s", cases[i].text, all_findings());
		if (cases[i].code)
			cr_expect(found(cases[i].code, cases[i].line, 0, ""), "%s:%s", cases[i].text, all_findings());
		else
			cr_expect(loaded.policy.files.count == 2 && loaded.local == AJ_LOCAL_USED);
	}
	static const char *const hiding[] = { "[filesystem]\nbinds = []\n", "[process]\nenv = []\n", "[filesystem]\nproc = false\n" };
	for (size_t i = 0; i < sizeof hiding / sizeof *hiding; i++) {
		put("user/seen.toml", "extends = \"command\"\nfilesystem.binds = [\"/srv:/srv\"]\nprocess.env = [\"STRICT=1\"]\n");
		put("user/" AJ_LOCAL_FILE, hiding[i]);
		REFUSED(load_file("user/seen.toml"), TIGHTEN_ONLY, 2, 1, "could hide a test");
	}
	/* it binds options by its locks, and not otherwise */
	option("--timeout", "limits.wall", "2s", false);
	put("user/" AJ_LOCAL_FILE, "[limits]\nwall = \"1s\"\n");
	OK(load_name("snippet"));
	IS("limits.wall", "\"2s\"");
	put("user/" AJ_LOCAL_FILE, "lock = [\"limits\"]\n[limits]\nwall = \"1s\"\n");
	REFUSED(load_name("snippet"), LOCKED, 0, 0, AJ_LOCAL_FILE);
}

Test(load, local_policies_are_asked_for)
{
	ask.local = in("user/" AJ_LOCAL_FILE);
	put("user/" AJ_LOCAL_FILE, "[");
	OK(load_name("snippet")); /* not even read */
	cr_expect_eq(loaded.local, AJ_LOCAL_LEFT);
	ask.local_asked = true;
	REFUSED(load_name("snippet"), SYNTAX, 1, 0, "");
	put("user/" AJ_LOCAL_FILE, "[limits]\nwall = \"1s\"\n");
	OK(load_name("snippet"));
	cr_expect_eq(loaded.local, AJ_LOCAL_USED);
	cr_expect_eq(loaded.policy.wall_ms, 1000);
}

/* Below a folder that the jail may write it was perhaps written by a jail. */
Test(load, local_policies_of_a_jail)
{
	ask.local = in("user/" AJ_LOCAL_FILE);
	put("user/" AJ_LOCAL_FILE, "[limits]\nwall = \"1s\"\n");
	put("user/shared.toml", "extends = \"command\"\nfilesystem.workspace = \"read-write\"\n");
	put("user/shown.toml", "extends = \"command\"\nfilesystem.workspace = \"read-only\"\n");
	site.local = true;
	ask.workspace = in(".");
	OK(load_file("user/shared.toml"));
	cr_expect_eq(loaded.local, AJ_LOCAL_WITHIN);
	cr_expect_str_eq(loaded.local_within, ask.workspace);
	cr_expect_eq(loaded.policy.wall_ms, 0);
	OK(load_file("user/shown.toml"));
	cr_expect_eq(loaded.local, AJ_LOCAL_USED);
	ask.local_asked = true;
	REFUSED(load_file("user/shared.toml"), TRUST, 0, 0, "may write");
	ask.workspace = NULL;
	OK(load_file("user/shared.toml"));
	option("--bind", "filesystem.binds", in("user:/x"), true);
	OK(load_file("user/shared.toml"));
	cr_expect_eq(loaded.local, AJ_LOCAL_USED);
	option("--bind", "filesystem.binds", in("user:/y:rw"), true);
	REFUSED(load_file("user/shared.toml"), TRUST, 0, 0, "may write");
}

/* --- trust --- */

Test(load, modes_and_owners)
{
	static const struct {
		mode_t mode;
		gid_t gid;
		uid_t uid;
		bool allowed;
	} cases[] = {
		{ 0600, 0, 0, true },  { 0644, 0, 0, true },      { 0444, 0, 0, true },          { 0666, 0, 0, false },
		{ 0646, 0, 0, false }, { 0664, 12345, 0, false }, { 0660, 12345, 0, false },     { 0644, 12345, 0, true },
		{ 0664, 0, 0, true },  { 0644, 0, 12345, false }, { 0600, 12345, 12345, false },
	};
	bool root = geteuid() == 0;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (!root && (cases[i].gid || cases[i].uid || cases[i].mode == 0664))
			continue; /* owners and groups are for root to give */
		const char *path = put("user/p.toml", "[limits]\nwall = \"1s\"\n");
		if (root)
			cr_assert_eq(chown(path, cases[i].uid, cases[i].gid), 0);
		cr_assert_eq(chmod(path, cases[i].mode), 0);
		cr_expect_eq(load_file("user/p.toml"), cases[i].allowed ? 0 : -1, "mode %o, group %u, user %u:%s", cases[i].mode,
		             cases[i].gid, cases[i].uid, all_findings());
		cr_expect(cases[i].allowed || found(TRUST, 0, 0, "user/p.toml"), "%s", all_findings());
		unlink(path);
	}
}

Test(load, folders)
{
	put("user/p.toml", "");
	chmod(in("user"), 0777);
	REFUSED(load_file("user/p.toml"), TRUST, 0, 0, "is writable by others");
	chmod(in("user"), 01777);
	OK(load_file("user/p.toml"));
	chmod(in("user"), 0755);
	OK(load_file("user/p.toml"));
	/* the folder of a name, too */
	put("site/n.toml", "");
	chmod(in("site"), 0777);
	REFUSED(load_name("n"), TRUST, 0, 0, "is writable by others");
	chmod(in("site"), 0755);
	if (geteuid() == 0) {
		cr_assert_eq(chown(in("user"), 12345, 0), 0);
		REFUSED(load_file("user/p.toml"), TRUST, 0, 0, "belongs to user id 12345");
	}
}

Test(load, symlinks)
{
	mkdir(in("user/deep"), 0755);
	put("user/deep/real.toml", "[limits]\nwall = \"1s\"\n");
	put("more/outside.toml", "");
	cr_assert_eq(symlink("deep/real.toml", in("user/inside.toml")), 0);
	OK(load_file("user/inside.toml"));
	IS("limits.wall", "\"1s\"");
	cr_assert_eq(symlink("../more/outside.toml", in("user/out.toml")), 0);
	REFUSED(load_file("user/out.toml"), TRUST, 0, 0, "leads out of its folder");
	cr_assert_eq(symlink(in("user/deep/real.toml"), in("user/absolute.toml")), 0);
	REFUSED(load_file("user/absolute.toml"), TRUST, 0, 0, "leads out of its folder");
	/* a link below which others may write */
	chmod(in("user/deep"), 0777);
	REFUSED(load_file("user/inside.toml"), TRUST, 0, 0, "is writable by others");
	chmod(in("user/deep"), 0755);
	/* one to nothing is there, and it is not what it should be: nobody may take it for absent */
	cr_assert_eq(symlink("nothing.toml", in("site/gone.toml")), 0);
	REFUSED(load_name("gone"), TRUST, 0, 0, "gone.toml");
	cr_assert_eq(symlink("nothing.toml", in("user/" AJ_LOCAL_FILE)), 0);
	ask.local = in("user/" AJ_LOCAL_FILE);
	ask.local_asked = true;
	REFUSED(load_name("snippet"), TRUST, 0, 0, AJ_LOCAL_FILE);
	ask.local = NULL;
	cr_assert_eq(symlink("nowhere", in("lost")), 0);
	site.path.items[0] = in("lost");
	REFUSED(load_name("snippet"), TRUST, 0, 0, "lost");
	site.path.items[0] = in("absent");
	OK(load_name("snippet")); /* a folder that does not exist holds no policies */
	cr_assert_eq(symlink("loop.toml", in("user/loop.toml")), 0);
	REFUSED(load_file("user/loop.toml"), TRUST, 0, 0, "loop.toml");
}

Test(load, what_is_no_file)
{
	mkfifo(in("user/fifo.toml"), 0600);
	REFUSED(load_file("user/fifo.toml"), TRUST, 0, 0, "not a regular file");
	mkdir(in("user/dir.toml"), 0755);
	REFUSED(load_file("user/dir.toml"), TRUST, 0, 0, "not a regular file");
	ask.file = "/dev/null";
	REFUSED(again(), TRUST, 0, 0, "/dev/null");
	ask.file = "/dev/zero";
	REFUSED(again(), TRUST, 0, 0, "/dev/zero");
	ask.file = "/dev/stdin";
	REFUSED(again(), TRUST, 0, 0, "/dev/stdin");
	ask.file = "/proc/self/fd/0";
	REFUSED(again(), TRUST, 0, 0, "/proc/self/fd/0");
	ask.file = in("user/absent.toml");
	REFUSED(again(), TRUST, 0, 0, "No such file");
	ask.file = "";
	cr_expect_eq(again(), -1);
	ask.file = "/";
	cr_expect_eq(again(), -1);
	ask.file = aj_printf(&arena, "%s/%0300d.toml", dir, 0);
	REFUSED(again(), TRUST, 0, 0, "File name too long");
	if (geteuid() != 0) {
		put("user/closed.toml", "");
		chmod(in("user/closed.toml"), 0);
		REFUSED(load_file("user/closed.toml"), TRUST, 0, 0, "Permission denied");
	}
	put("user/\xff\x1b[2J.toml", "[");
	REFUSED(load_file("user/\xff\x1b[2J.toml"), SYNTAX, 1, 0, "");
}

/* --- bombs: an error, and soon --- */

Test(load, bombs)
{
	enum { MANY = 250000 };
	char *text = aj_alloc(&arena, MANY + 4096), *at;
	cr_assert_eq(truncate(put("user/big.toml", ""), 100 << 20), 0);
	REFUSED(load_file("user/big.toml"), TRUST, 0, 0, "larger than a policy may be");
	cr_assert_eq(truncate(put("user/big.toml", "# x"), AJ_TOML_MAX_BYTES), 0);
	REFUSED(load_file("user/big.toml"), SYNTAX, 0, 0, "NUL");

	for (at = text; at < text + MANY;)
		at = stpcpy(at, "[");
	REFUSED(load_text(text), SYNTAX, 0, 0, "");
	for (at = stpcpy(text, "a = "); at < text + MANY;)
		at = stpcpy(at, "{a = ");
	REFUSED(load_text(text), SYNTAX, 0, 0, "");
	for (at = stpcpy(text, "[a"); at < text + MANY;)
		at = stpcpy(at, ".a");
	stpcpy(at, "]\n");
	REFUSED(load_text(text), SYNTAX, 0, 0, "");

	unsigned n = 0;
	for (at = text; at < text + MANY && n < AJ_TOML_MAX_ALL_PARTS; n++)
		at += sprintf(at, "a%x=1\n", n);
	cr_expect_eq(load_text(text), -1);
	cr_expect_eq(diags.errors, n);
	n = 0;
	for (at = text; at < text + MANY && n < AJ_TOML_MAX_ALL_PARTS; n++)
		at += sprintf(at, "[limits%x]\n", n);
	cr_expect_eq(load_text(text), -1);
	cr_expect_eq(diags.errors, n);
	for (at = stpcpy(text, "[python]\nimports = ["); at < text + MANY;)
		at = stpcpy(at, "\"a\",");
	stpcpy(at, "]\n");
	cr_expect_eq(load_text(text), -1);
	for (at = stpcpy(text, "[process]\ndeny_syscalls = ["); at < text + MANY;)
		at = stpcpy(at, "\"ipd\",");
	stpcpy(at, "]\n");
	cr_expect_eq(load_text(text), -1);
	for (at = stpcpy(text, "lock = ["); at < text + MANY;)
		at = stpcpy(at, "\"limits.wal\",");
	stpcpy(at, "]\n");
	cr_expect_eq(load_text(text), -1);
	memset(text, 'a', MANY);
	stpcpy(text + MANY, " = 1\n");
	cr_expect_eq(load_text(text), -1);
	at = stpcpy(text, "description = \"");
	memset(at, 'a', MANY);
	stpcpy(at + MANY, "\"\n");
	cr_expect_eq(load_text(text), -1);
	at = stpcpy(text, "[process]\nenv = [\"A=");
	memset(at, 'a', MANY);
	stpcpy(at + MANY, "\"]\n");
	load_text(text);
}

/* --- lint: each code once --- */

Test(load, lint)
{
	static const struct {
		const char *text, *code;
		int line;
	} cases[] = {
		{ "[python]\nimports = [\"json\", \"ctypes\"]\n", "AJ101", 2 },
		{ "[python]\nimports = [\"urllib.request\"]\n", "AJ101", 2 },
		{ "[python]\nimports = [\"unittest.loader\"]\n", "AJ101", 2 },
		{ "[python]\nimports = [\"numpy.*\"]\n", "AJ102", 2 },
		{ "[network]\nmode = \"allow\"\nallow = [\"*.example.org:443\"]\n[process]\nexec = true\n", "AJ102", 3 },
		{ "[process]\nenv = [\"API_TOKEN=x\"]\n", "AJ103", 2 },
		{ "[process]\nenv = [\"A=ghp_x\"]\n", "AJ103", 2 },
		{ "[python]\nbuiltins = \"full\"\n", "AJ104", 2 },
		{ "[network]\nmode = \"allow\"\nallow = [\"169.254.169.0/24:80\"]\n[process]\nexec = true\n", "AJ112", 3 },
		{ "[network]\nmode = \"allow\"\nallow = [\"[fd00:ec2::254]:80\"]\n[process]\nexec = true\n", "AJ112", 3 },
		{ "[network]\nmode = \"host\"\n[process]\nexec = true\n", "AJ105", 2 },
		{ "[limits]\nmemory = \"none\"\n", "AJ107", 2 },
		{ "[limits]\npids = \"none\"\n", "AJ107", 2 },
		{ "[filesystem]\nbinds = [\"/etc:/host-etc\"]\n", "AJ108", 2 },
		{ "[filesystem]\nbinds = [\"/var/run/docker.sock:/docker.sock\"]\n", "AJ109", 2 },
		{ "[filesystem]\nbinds = [\"/home/me/.ssh:/keys\"]\n", "AJ109", 2 },
		{ "[filesystem]\nbinds = [\"/srv/w:/w:rw\"]\nmasks = [\"/w/a/b\"]\n", "AJ110", 3 },
	};
	static const char *const clean[] = {
		"[python]\nimports = [\"json\", \"osmium\", \"os_x\"]\n",
		"[python]\nlayer = false\nimports = [\"os\"]\nbuiltins = \"full\"\n",
		"[process]\nenv = [\"TOKEN=\", \"GIT_TERMINAL_PROMPT=0\"]\n",
		"[filesystem]\nbinds = [\"/srv/etc:/host-etc\"]\nmasks = [\"/w\"]\n",
		"[filesystem]\nbinds = [\"/srv/w:/w\"]\nmasks = [\"/w/a\"]\n",
		"[network]\nmode = \"allow\"\nallow = [\"10.0.0.0/8:80\", \"a.example.org:443\"]\n[process]\nexec = true\n",
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		OK(load_text(cases[i].text));
		aj_policy_lint(&loaded, &diags);
		cr_expect(found(cases[i].code, cases[i].line, 0, ""), "no %s for %s:%s", cases[i].code, cases[i].text, all_findings());
		cr_expect_eq(diags.errors, 0);
	}
	for (size_t i = 0; i < sizeof clean / sizeof *clean; i++) {
		OK(load_text(clean[i]));
		aj_policy_lint(&loaded, &diags);
		cr_expect_eq(diags.warnings, 0, "%s:%s", clean[i], all_findings());
	}
}
