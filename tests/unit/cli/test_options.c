/* Tests of options/options: every option with good and bad values, and the paths of --bind and --file.
 * It stops at the parsed structure: what the options do is tested where they do it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/options/options.h"

enum { EXEC = AJ_FOR_EXEC, RUN = AJ_FOR_RUN };

static struct aj_arena arena;
static struct aj_options o;
static struct aj_error err;

static int parse(int command, const char *a, const char *b, const char *c)
{
	char *argv[] = { command == EXEC ? "exec" : "run", (char *)a, (char *)b, (char *)c, NULL };
	int argc = 1 + !!a + (a && b) + (a && b && c);
	aj_arena_free(&arena);
	o = (struct aj_options){ .arena = &arena, .request.is_snippet = command == EXEC };
	err = (struct aj_error){ 0 };
	int first = aj_options_parse(&o, command, argc, argv, &err);
	unsetenv("AGENTJAIL_ROOTFS"); /* it would count as an option */
	return first < 0 || aj_options_load(&o, command, &err) < 0 ? -1 : first;
}

static void done(void)
{
	aj_arena_free(&arena);
}
TestSuite(options, .fini = done);

#define LONG_128                                                           \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A value that both commands of the option must take, or refuse. NULL: the option takes none. */
static const struct {
	const char *name;
	int commands;
	const char *good[10], *bad[14];
} rows[] = {
	{ "-c", EXEC, { "1", "", "-c" }, { NULL } },
	{ "--json", EXEC | RUN, { NULL }, { NULL } },
	{ "--allow-import", EXEC, { "numpy", "numpy.*", "a.b", "*" }, { "", "**", "a b", "a.", "../x" } },
	{ "--imports-checked", EXEC, { "before", "run" }, { "", "never", "Run" } },
	{ "--clock", EXEC, { "real", "2026-01-01T00:00:00Z", "+24h" }, { "", "now", "2026-01-01" } },
	{ "--sleep-max", EXEC, { "10ms", "1s", "none" }, { "", "0", "-1s", "x" } },
	{ "--builtins", EXEC, { "minimal", "static", "standard", "full" }, { "", "all", "Full" } },
	{ "--layer", EXEC, { "on", "off" }, { "", "true", "ON" } },
	{ "--input", EXEC, { "a=1", "a=", "a==" }, { "", "a", "=1" } },
	{ "--file", EXEC, { "/etc/hosts", "data.csv", "x:/input/y", "x:/tmp/y:ro" }, { "", ":/x", "x:y", "x:/y:rw", "x:", "/a/", ".." } },
	{ "--output", EXEC, { "out", "/srv/out" }, { "" } },
	{ "--seed", EXEC, { "0", "7", "4294967295" }, { "", "-1", "x", "1.5", "4294967296" } },
	{ "--stdin", EXEC, { "-", "in.txt", "/srv/in" }, { "" } },
	{ "--value-of", EXEC, { "expression", "statement" }, { "", "Statement", "all" } },
	{ "--for-model", EXEC, { NULL }, { NULL } },
	{ "--workspace-mode", EXEC | RUN, { "ro", "rw", "overlay", "copy" }, { "", "read-only", "none", "RW" } },
	{ "--changes-end", RUN, { "ask", "keep" }, { "", "apply", "ASK" } },
	{ "--changes", EXEC | RUN, { "1f", "new", "continue" }, { "" } },
	{ "--policy", EXEC | RUN, { "snippet", "locked" }, { "", "../x", "snippet.toml", "/etc/passwd", "http://x/y", "a/b", "." } },
	{ "--policy-file", EXEC | RUN, { "agentjail-unit-test.toml" }, { "", "/does/not/exist", "http://x/y", "/" } },
	{ "--config", EXEC | RUN, { "agentjail-unit-test.toml" }, { "", "/does/not/exist", "/" } },
	{ "--workspace", EXEC | RUN, { "/srv", "." }, { "" } },
	{ "--workspace-at", EXEC | RUN, { "same", "/workspace" }, { "", "/", "Same", "/srv" } },
	{ "--rootfs", EXEC | RUN, { "/r", "r" }, { "" } },
	{ "--network", RUN, { "none", "loopback", "host" }, { "", "allowed", "None" } },
	{ "--connect", RUN, { "/run/a.sock", "a.sock" }, { "", "/run/../a.sock" } },
	{ "--allow-host",
	  RUN,
	  { "pypi.org:443", "*.pypi.org:443", "203.0.113.7:22", "10.0.0.0/8:443", "pypi.org", "*.pypi.org", "203.0.113.7",
	    "[2001:db8::1]", "host:5432", "registry:5000" },
	  { "", "*", "*:443", "pypi.org:0", "pypi.org:", "https://pypi.org", "0x7f.1:80", "2001:db8::1", "host",
	    "host.docker.internal", "localhost", "127.0.0.1", "127.0.0.1:5432", "localhost:5432" } },
	{ "--network-ask", RUN, { NULL }, { NULL } },
	{ "--network-ask-command", RUN, { "ask", "read q; echo no" }, { "" } },
	{ "--network-ask-fd", RUN, { "97" }, { "", "2", "98", "99", "-1", "2147483648", "9x" } }, /* 97: the test opens it, a socket */
	{ "--network-ask-timeout", RUN, { "1s", "1h", "90" }, { "", "0", "999ms", "61m", "none" } },
	{ "--network-ask-save", RUN, { "my.toml", "/srv/my.toml" }, { "" } },
	{ "--publish",
	  RUN,
	  { "8000", "8080:80", "127.0.0.1:8000", "0.0.0.0:8080:80", "[::1]:8000", "[::]:1:65535" },
	  { "", "0", "65536", "8000:0", "localhost:8000", "::1:8000", "[::1]", "1.2.3:8000", "8000:80:", "08000" } },
	{ "--bind", RUN, { "/a", "/a:/b", "/a:/b:rw", "/a:/b:ro", "a:/b", "a", "/a:rw" }, { "", ":/b", "/a:b", "/a:/b:x", "/a:/b:rw:x" } },
	{ "--home", RUN, { "empty", "kept" }, { "", "Kept", "/home/u" } },
	{ "--home-scope", RUN, { "workspace", "policy" }, { "", "Policy", "both" } },
	{ "--toolchain", RUN, { "auto", "none", "rust", "opt" }, { "", "cargo", "Auto", "/opt/x" } },
	{ "--chdir", RUN, { "/", "/tmp" }, { "", "tmp", "." } },
	{ "--proc", RUN, { "fresh", "none" }, { "", "host" } },
	{ "--env", EXEC, { "A=1", "A=", "A=b=c" }, { "", "=1", "=", "a/b", "../a", ".a" } },
	{ "--env", RUN, { "A=1", "A=", "A=b=c", "UNIT_TEST_SET" }, { "", "=1", "=", "UNIT_TEST_NOT_SET" } },
	{ "--timeout", EXEC | RUN, { "500ms", "1", "168h", "604800" }, { "", "0", "0s", "169h", "604801", "-1", "1.5", "1d", "ten" } },
	{ "--memory", EXEC | RUN, { "16M", "16777216", "2G" }, { "", "0", "16777215", "15M", "-1", "1T", "8589934592G", "lots" } },
	{ "--pids", EXEC | RUN, { "1", "1048576" }, { "", "0", "1048577", "-1", "1K", "many" } },
	{ "--cpu-percent", EXEC | RUN, { "1", "250", "100000", "none" }, { "", "0", "100001", "-1", "50%", "half" } },
	{ "--limits", EXEC | RUN, { "best-effort", "strict" }, { "", "none", "Strict" } },
	{ "--cgroup", EXEC | RUN, { "/sys/fs/cgroup/x" }, { "", "x" } },
	{ "--id", EXEC | RUN, { "a", "\xc3\xa9", LONG_128 }, { "", LONG_128 "x", "\xff", "a\xc3" } },
	{ "--dry-run", EXEC | RUN, { NULL }, { NULL } },
	{ "--local-policy", EXEC | RUN, { NULL }, { NULL } },
	{ "--report", EXEC | RUN, { "r.json", "/srv/r.md" }, { "", ".md", ".json", "r", "r.txt" } },
	{ "--mcp", RUN, { NULL }, { NULL } },
	{ "--sign", RUN, { NULL }, { NULL } }, /* the test binds the agent's socket */
	{ "--json-fd", RUN, { "99" }, { "", "2", "98", "-1", "2147483648", "9x", "stdout" } }, /* 99: the test opens it */
};
enum { ROWS = sizeof rows / sizeof *rows };

static void check_row(size_t i, int command)
{
	/* The default policies have no workspace. */
	const char *policy = strcmp(rows[i].name, "--workspace") == 0 ? "--policy-file=agentjail-unit-workspace.toml" : NULL;
	const char *name = rows[i].name;
	char joined[300];
	if (!(rows[i].commands & command)) {
		cr_expect_eq(parse(command, name, "x", NULL), -1, "%s belongs to the other command", name);
		cr_expect_eq(err.exit_code, AJ_EXIT_USAGE);
		return;
	}
	bool is_switch = !rows[i].good[0];
	if (is_switch) {
		cr_expect_eq(parse(command, name, NULL, NULL), 2, "%s", name);
		snprintf(joined, sizeof joined, "%s=x", name);
		cr_expect_eq(parse(command, joined, NULL, NULL), -1, "%s takes no value", name);
		return;
	}
	cr_expect_eq(parse(command, name, NULL, NULL), -1, "%s without its value", name);
	cr_expect_eq(err.exit_code, AJ_EXIT_USAGE);
	for (size_t j = 0; j < 10 && rows[i].good[j]; j++) {
		cr_expect_eq(parse(command, name, rows[i].good[j], policy), policy ? 4 : 3, "%s `%s`: %s", name, rows[i].good[j],
		             err.cause);
		snprintf(joined, sizeof joined, "%s=%s", name, rows[i].good[j]);
		if (name[1] == '-')
			cr_expect_eq(parse(command, joined, policy, NULL), policy ? 3 : 2, "%s: %s", joined, err.cause);
	}
	for (size_t j = 0; j < 14 && rows[i].bad[j]; j++) {
		cr_expect_eq(parse(command, name, rows[i].bad[j], NULL), -1, "%s `%s` is accepted", name, rows[i].bad[j]);
		cr_expect_eq(err.exit_code, AJ_EXIT_USAGE);
		cr_expect(strstr(err.cause, name) || strcmp(err.step, "policy") == 0, "the message does not name %s: %s", name, err.cause);
		snprintf(joined, sizeof joined, "%s=%s", name, rows[i].bad[j]);
		cr_expect_eq(parse(command, joined, NULL, NULL), -1, "%s is accepted", joined);
	}
}

Test(options, every_option_with_good_and_bad_values)
{
	char folder[] = "/tmp/aj-unit.XXXXXX";
	setenv("UNIT_TEST_SET", "yes", 1);
	unsetenv("UNIT_TEST_NOT_SET");
	cr_assert(mkdtemp(folder) && chdir(folder) == 0);
	cr_assert_eq(dup2(2, 99), 99);
	cr_assert_eq(dup2(socket(AF_UNIX, SOCK_STREAM, 0), 97), 97);
	struct sockaddr_un agent = { .sun_family = AF_UNIX };
	snprintf(agent.sun_path, sizeof agent.sun_path, "%s/agent.sock", folder);
	int agent_fd = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_eq(bind(agent_fd, (struct sockaddr *)&agent, sizeof agent), 0);
	setenv("SSH_AUTH_SOCK", agent.sun_path, 1);
	fclose(fopen("agentjail-unit-test.toml", "w")); /* empty: neither a policy nor a configuration has to say anything */
	fclose(fopen(AJ_LOCAL_FILE, "w"));
	FILE *policy = fopen("agentjail-unit-workspace.toml", "w");
	fputs("[filesystem]\nworkspace = \"read-only\"\n", policy);
	fclose(policy);
	for (size_t i = 0; i < ROWS; i++) {
		check_row(i, EXEC);
		check_row(i, RUN);
	}
	close(agent_fd);
	unlink(agent.sun_path);
	unlink("agentjail-unit-test.toml");
	unlink("agentjail-unit-workspace.toml");
	unlink(AJ_LOCAL_FILE);
	rmdir(folder);
}

/* An option that is added must come with its row above. */
Test(options, none_is_untested)
{
	for (int command = EXEC; command <= RUN; command++) {
		char *help, *save = NULL;
		size_t bytes, found = 0, expected = 0;
		FILE *out = open_memstream(&help, &bytes);
		aj_options_help(command, out);
		fclose(out);
		for (char *line = strtok_r(help, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			char name[32];
			if (strncmp(line, "  -", 3) != 0 || sscanf(line, "  %31s", name) != 1)
				continue;
			size_t i = 0;
			while (i < ROWS && (strcmp(rows[i].name, name) != 0 || !(rows[i].commands & command)))
				i++;
			cr_expect_lt(i, (size_t)ROWS, "%s has no row in this test", name);
			found++;
		}
		for (size_t i = 0; i < ROWS; i++)
			expected += (rows[i].commands & command) != 0;
		cr_expect_eq(found, expected, "command %d: %zu options in the help, %zu here", command, found, expected);
		free(help);
	}
}

Test(options, unknown_means_no)
{
	static const char *const unknown[] = { "--netwrok", "--time", "--timeoutx", "--timeou", "-x", "-cc",
		                               "---",       "--=",    "-c=1",       "--JSON",   "-",  NULL };
	for (size_t i = 0; unknown[i]; i++) {
		bool operand = strcmp(unknown[i], "-") == 0;
		cr_expect_eq(parse(EXEC, unknown[i], "1", NULL), operand ? 1 : -1, "%s", unknown[i]);
		cr_expect_eq(err.exit_code, operand ? 0 : AJ_EXIT_USAGE, "%s", unknown[i]);
		cr_expect(operand || strstr(err.fix, "--help"), "no advice for %s", unknown[i]);
	}
}

Test(options, operands)
{
	cr_expect_eq(parse(RUN, NULL, NULL, NULL), 1);
	cr_expect_eq(parse(RUN, "--", "--json", NULL), 2, "after -- everything is the command's");
	cr_expect_not(o.json);
	cr_expect_eq(parse(RUN, "ls", "--json", NULL), 1, "and after the first operand");
	cr_expect_not(o.json);
	cr_expect_eq(parse(RUN, "--json", "ls", "--json"), 2);
	cr_expect_eq(parse(RUN, "--json", "--", "x"), 3);
	cr_expect_eq(parse(RUN, "--timeout", "--", "x"), -1, "-- is no value of an option that wants a time");
	cr_expect_eq(parse(EXEC, "", NULL, NULL), 1, "an empty argument is an operand");
}

Test(options, values_arrive)
{
	parse(EXEC, "--timeout", "3", NULL);
	cr_expect(o.loaded.policy.wall_ms == 3000 && o.loaded.policy.cpu_ms == 3000, "a snippet's CPU time follows its wall clock");
	parse(RUN, "--timeout", "3", NULL);
	cr_expect(o.loaded.policy.wall_ms == 3000 && o.loaded.policy.cpu_ms == 0, "a command may have many CPUs");
	parse(RUN, "--memory", "256M", NULL);
	cr_expect_eq(o.loaded.policy.memory_bytes, 256 << 20);
	parse(RUN, "--pids", "7", NULL);
	cr_expect_eq(o.loaded.policy.pids, 7);
	parse(RUN, "--network", "loopback", NULL);
	cr_expect_eq(o.loaded.policy.network, AJ_NET_LOOPBACK);
	parse(RUN, "--proc", "none", NULL);
	cr_expect_not(o.loaded.policy.proc);
	parse(RUN, "--limits", "strict", NULL);
	cr_expect_eq(o.loaded.policy.enforce, AJ_ENFORCE_STRICT);
	parse(EXEC, "--layer", "off", NULL);
	cr_expect_not(o.loaded.policy.layer);
	parse(EXEC, "--builtins", "full", NULL);
	cr_expect_eq(o.loaded.policy.builtins, AJ_BUILTINS_FULL);
	parse(RUN, "--json", NULL, NULL);
	cr_expect(o.json && o.request.capture);
	parse(EXEC, "-c", "--json", NULL);
	cr_expect(!o.json && strcmp(o.code, "--json") == 0, "the value of -c is code, whatever it looks like");
	parse(EXEC, "--input=a=1", "--input=b=2", NULL);
	cr_expect(o.inputs.count == 2 && strcmp(o.inputs.items[1], "b=2") == 0);
	parse(EXEC, "--allow-import=numpy.*", NULL, NULL);
	cr_expect_str_eq(o.loaded.policy.imports.items[o.loaded.policy.imports.count - 1], "numpy.*");
}

Test(options, env)
{
	setenv("UNIT_TEST_SET", "yes", 1);
	parse(RUN, "--env", "UNIT_TEST_SET", NULL);
	cr_assert_eq(o.request.env.count, 1);
	cr_expect_str_eq(o.request.env.items[0], "UNIT_TEST_SET=yes");
	parse(RUN, "--env", "LD_PRELOAD=/x", NULL);
	cr_expect_eq(o.request.env.count, 1, "a command is the caller's own program");
	static const char *const runner[] = { "LD_PRELOAD=/x", "LD_LIBRARY_PATH=/x", "PYTHONPATH=/x", "PYTHONSTARTUP=/x" };
	for (size_t i = 0; i < sizeof runner / sizeof *runner; i++)
		cr_expect_eq(parse(EXEC, "--env", runner[i], NULL), -1, "%s for a snippet", runner[i]);
	cr_expect_eq(parse(EXEC, "--env", "MY_PYTHONPATH=/x", NULL), 3);
}

Test(options, a_bind_from_the_home)
{
	char home[] = "/tmp/aj-options-XXXXXX", expected[64];
	cr_assert_neq(mkdtemp(home), NULL);
	setenv("HOME", home, 1);
	cr_expect_eq(parse(RUN, "--bind", "~/a:/b", NULL), 3);
	snprintf(expected, sizeof expected, "%s/a", home);
	cr_expect_str_eq(o.request.binds.items[0].source, expected);
	rmdir(home);
	cr_expect_eq(parse(RUN, "--bind", "~/a:/b", NULL), -1, "there is no home");
	cr_expect(strstr(err.cause, "home"), "%s", err.cause);
}

Test(options, paths_of_bind)
{
	static const struct {
		const char *text, *source, *target; /* NULL: refused */
		bool writable;
	} binds[] = {
		{ "/a", "/a", "/a", false },
		{ "/a:/b", "/a", "/b", false },
		{ "/a:/b:ro", "/a", "/b", false },
		{ "/a:/b:rw", "/a", "/b", true },
		{ "/a:rw", "/a", "/a", true },
		{ "/a:ro", "/a", "/a", false },
		{ ".:/work", "/usr/lib", "/work", false }, /* from the working directory */
		{ "../x:/work/x", "/usr/x", "/work/x", false },
		{ "a", "/usr/lib/a", "/usr/lib/a", false },
		{ "/a/../b:/c", "/a/../b", "/c", false },
		{ "/a:/.b/..c/d..", "/a", "/.b/..c/d..", false },
		{ "/a:/b c", "/a", "/b c", false },
		{ "", NULL, NULL, false },
		{ ":", NULL, NULL, false },
		{ ":/b", NULL, NULL, false },
		{ "/a:", NULL, NULL, false },
		{ "/", NULL, NULL, false },
		{ "/a:/", NULL, NULL, false },
		{ "/a:b", NULL, NULL, false },
		{ "/a:./b", NULL, NULL, false },
		{ "/a://b", NULL, NULL, false },
		{ "/a:/b//c", NULL, NULL, false },
		{ "/a:/b/", NULL, NULL, false },
		{ "/a:/.", NULL, NULL, false },
		{ "/a:/..", NULL, NULL, false },
		{ "/a:/b/../c", NULL, NULL, false },
		{ "/a:/b/..", NULL, NULL, false },
		{ "/a:/./b", NULL, NULL, false },
		{ "/a:/b/.", NULL, NULL, false },
		{ "/a/../b", NULL, NULL, false }, /* as a target it would be one, too */
		{ "/a:/b:", NULL, NULL, false },
		{ "/a:/b:RW", NULL, NULL, false },
		{ "/a:/b:rw:", NULL, NULL, false },
		{ "/a:/b:/c", NULL, NULL, false },
	};
	cr_assert_eq(chdir("/usr/lib"), 0);
	for (size_t i = 0; i < sizeof binds / sizeof *binds; i++) {
		int r = parse(RUN, "--bind", binds[i].text, NULL);
		cr_expect_eq(r, binds[i].source ? 3 : -1, "`%s`: %d %s", binds[i].text, r, err.cause);
		cr_expect_eq(o.request.binds.count, binds[i].source != NULL);
		if (!binds[i].source || o.request.binds.count != 1)
			continue;
		cr_expect_str_eq(o.request.binds.items[0].source, binds[i].source);
		cr_expect_str_eq(o.request.binds.items[0].target, binds[i].target);
		cr_expect_eq(o.request.binds.items[0].writable, binds[i].writable, "`%s`", binds[i].text);
	}
}

Test(options, paths_of_file)
{
	static const struct {
		const char *text, *source, *target;
	} files[] = {
		{ "/data/a.csv", "/data/a.csv", "/input/a.csv" },
		{ "a.csv", "a.csv", "/input/a.csv" },
		{ "../a.csv", "../a.csv", "/input/a.csv" },
		{ "/a:/tmp/b", "/a", "/tmp/b" },
		{ "/a:/tmp/b:ro", "/a", "/tmp/b" },
		{ "/a:/tmp/b:rw", NULL, NULL },
		{ "/a:b", NULL, NULL },
		{ "/a/", NULL, NULL },
		{ "/", NULL, NULL },
		{ ".", NULL, NULL },
		{ "..", NULL, NULL },
		{ "/a/..", NULL, NULL },
		{ "", NULL, NULL },
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		int r = parse(EXEC, "--file", files[i].text, NULL);
		cr_expect_eq(r, files[i].source ? 3 : -1, "`%s`: %d %s", files[i].text, r, err.cause);
		if (!files[i].source || o.request.binds.count != 1)
			continue;
		cr_expect_str_eq(o.request.binds.items[0].source, files[i].source);
		cr_expect_str_eq(o.request.binds.items[0].target, files[i].target);
		cr_expect_not(o.request.binds.items[0].writable);
	}
}

/* The service's own options; the policy's are the same rows as above. */
static const struct {
	const char *name, *good[5], *bad[8];
} serve_rows[] = {
	{ "--env", { "data", "a-b_1" }, { "a/b", "../a", ".a", "A=1" } },
	{ "--policy", { "snippet", "a-b_1" }, { "", "../x", "x.toml", "/etc/passwd" } },
	{ "--policy-file", { "x.toml", "/a/b" }, { "" } },
	{ "--socket", { "/run/x" }, { "", "x", "./x", "@x" } },
	{ "--connection", { "3", "2147483647" }, { "", "2", "0", "-1", "2147483648", "3x", "stdin" } },
	{ "--metrics", { "/run/m", "127.0.0.1:9464", "[::1]:1" }, { "", "9464", "m" } },
	{ "--shards", { "1", "64" }, { "", "0", "65", "-1", "all" } },
	{ "--parked", { "0", "64" }, { "", "-1", "65", "two", "1K" } },
	{ "--jails-max", { "1", "100000" }, { "", "0", "100001", "many" } },
	{ "--sessions-max", { "0", "100000" }, { "", "100001", "1.5" } },
	{ "--tenant-sessions", { "0", "100000" }, { "", "100001" } },
	{ "--queue-max", { "0", "100000" }, { "", "100001" } },
	{ "--queue-time", { "0", "500ms", "1m" }, { "", "169h", "soon" } },
	{ "--clients-max", { "1", "10000" }, { "", "0", "10001" } },
	{ "--pools-max", { "1", "10000" }, { "", "0", "10001" } },
	{ "--idle", { "0", "300ms", "15m", "168h" }, { "", "169h", "1d", "-1s" } },
	{ "--lifetime", { "0", "1s" }, { "", "169h", "ever" } },
	{ "--grace", { "0", "1m" }, { "", "169h" } },
	{ "--request-max", { "4K", "4096", "64M" }, { "", "4095", "65M", "4m" } },
	{ "--request-time", { "100ms", "10s", "1h" }, { "", "99ms", "0", "never" } },
	{ "--unread-max", { "64K", "1G" }, { "", "1K", "2G", "lots" } },
};
enum { SERVE_ROWS = sizeof serve_rows / sizeof *serve_rows };

static int parse_serve(const char *name, const char *value)
{
	char *argv[] = { "serve", (char *)name, (char *)value, NULL };
	aj_arena_free(&arena);
	o = (struct aj_options){ .arena = &arena, .request.is_snippet = true };
	err = (struct aj_error){ 0 };
	aj_serve_options_defaults(&o.serving);
	return aj_options_parse(&o, AJ_FOR_SERVE, 3, argv, &err);
}

Test(options, of_serve)
{
	for (size_t i = 0; i < SERVE_ROWS; i++) {
		const char *name = serve_rows[i].name;
		for (size_t j = 0; j < 5 && serve_rows[i].good[j]; j++)
			cr_expect_eq(parse_serve(name, serve_rows[i].good[j]), 3, "%s `%s`: %s", name, serve_rows[i].good[j], err.cause);
		for (size_t j = 0; j < 8 && serve_rows[i].bad[j]; j++) {
			cr_expect_eq(parse_serve(name, serve_rows[i].bad[j]), -1, "%s `%s` is accepted", name, serve_rows[i].bad[j]);
			cr_expect_eq(err.exit_code, AJ_EXIT_USAGE);
			cr_expect(strstr(err.cause, name), "the message does not name %s: %s", name, err.cause);
		}
	}
	static const char *const others[] = { "-c", "--json", "--input", "--workspace", "--bind", "--id", "--dry-run" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		cr_expect_eq(parse_serve(others[i], "x"), -1, "%s is of another command", others[i]);
}

Test(options, of_serve_none_is_untested)
{
	char *help, *save = NULL;
	size_t bytes, own = 0;
	FILE *out = open_memstream(&help, &bytes);
	aj_options_help(AJ_FOR_SERVE, out);
	fclose(out);
	for (char *line = strtok_r(help, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char name[32];
		size_t i = 0, k = 0;
		if (strncmp(line, "  -", 3) != 0 || sscanf(line, "  %31s", name) != 1)
			continue;
		while (i < SERVE_ROWS && strcmp(serve_rows[i].name, name) != 0)
			i++;
		while (k < ROWS && strcmp(rows[k].name, name) != 0)
			k++;
		own += i < SERVE_ROWS;
		cr_expect(i < SERVE_ROWS || k < ROWS, "%s has no row in the table of this test", name);
	}
	cr_expect_eq(own, SERVE_ROWS);
	free(help);
}

Test(options, what_serve_is_told)
{
	char *argv[] = { "serve", "--policy", "a", "--memory=64M", "--policy-file", "b", "--parked", "7", "--idle", "2s", NULL };
	aj_arena_free(&arena);
	o = (struct aj_options){ .arena = &arena };
	err = (struct aj_error){ 0 };
	aj_serve_options_defaults(&o.serving);
	cr_expect_eq(o.serving.config.parked, 2);
	cr_expect_eq(o.serving.config.unread_bytes, 32 << 20);
	cr_expect_eq(o.serving.config.grace_ms, 10000);
	cr_assert_eq(aj_options_parse(&o, AJ_FOR_SERVE, 10, argv, &err), 10, "%s", err.cause);
	cr_assert_eq(o.serving.asks.count, 2);
	cr_expect_str_eq(o.serving.asks.items[0].name, "a");
	cr_expect_str_eq(o.serving.asks.items[1].file, "b");
	cr_expect_eq(o.serving.config.parked, 7);
	cr_expect_eq(o.serving.config.idle_ms, 2000);
	cr_expect_eq(o.ask.settings.count, 1, "settings are for all of them");
}
