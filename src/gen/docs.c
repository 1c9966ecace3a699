/* Build-time tool: prints the parts of the documentation that are tables in the code, alone or between the markers of a page.
 * A marker without a part or an end is an error. */
#include <stdio.h>
#include <string.h>

#include "cli/options/options.h"
#include "cli/policy/policycmd.h"
#include "gen/gen.h"
#include "policy/host/etc.h"
#include "policy/seccomp/syscalls.h"
#include "sandbox/steps.h"
#include "service/metrics/metrics.h"
#include "service/protocol/query.h"
#include "session/jsonschema/keyword.h"

#define REFUSED_HEAD "| call | condition | errno | why | instead |\n|---|---|---|---|---|\n"

static int syscall_row(const struct aj_syscall *row, void *data)
{
	bool refused = *(bool *)data;
	if ((row->errnum > 0) != refused)
		return 0;
	printf("| `%s` |", row->name);
	for (int i = 0; i < AJ_SYSCALL_ARGS; i++)
		if (row->arg[i].mask)
			printf(" argument %d & %#lx is %#lx", row->arg[i].index + 1, row->arg[i].mask, row->arg[i].value);
	if (refused)
		printf(" | %s", strerrorname_np(row->errnum));
	printf(" | %s%s |", row->errnum == AJ_ERRNO_NONE ? "not made, returns 0: " : "", row->why);
	if (refused)
		printf(" %s |", row->instead);
	printf("\n");
	return 0;
}

static void syscalls(enum aj_profile profile, enum aj_network network, bool refused)
{
	printf(refused ? REFUSED_HEAD : "| call | condition | why |\n|---|---|---|\n");
	aj_syscalls_each(profile, network, syscall_row, &refused);
}

static int print_why(const struct aj_syscall *row, void *data)
{
	const char **before = data;
	printf("%s%s", *before, row->why);
	*before = ", ";
	return 0;
}

static void print_syscalls(void)
{
	printf("## A snippet may call\n\n%d calls:\n\n", aj_syscalls_allowed(AJ_PROFILE_SNIPPET, AJ_NET_NONE));
	syscalls(AJ_PROFILE_SNIPPET, AJ_NET_NONE, false);
	printf("\n## A snippet is refused, with an error that says so\n\n");
	syscalls(AJ_PROFILE_SNIPPET, AJ_NET_NONE, true);
	bool not_refused = false;
	printf("\n## A snippet with python.native = \"tree\" may also call\n\n"
	       "All mounts but the read-only tree are noexec, so no other file can be mapped so.\n\n"
	       "| call | condition | why |\n|---|---|---|\n");
	aj_syscalls_native_each(syscall_row, &not_refused);
	printf("\n## Until Python has started\n\n"
	       "A snippet's Python runs under a filter from its first instruction on. That filter allows the calls of a snippet and\n"
	       "the following ones, and refuses what a snippet is refused. It stays; a second filter then removes the following ones.\n\n"
	       "| call | condition | why |\n|---|---|---|\n");
	aj_syscalls_startup_each(syscall_row, &not_refused);
	aj_syscalls_native_each(syscall_row, &not_refused);
	printf("\n## A zygote\n\n"
	       "Jails are born from a zygote. A zygote runs under a filter from its first instruction on, and its jails inherit that\n"
	       "filter below their own. The filter allows the calls of the jail, the calls of Python's start, and the following ones.\n"
	       "It reports no refusal: the jail's own filter does.\n\n"
	       "| call | condition | why |\n|---|---|---|\n");
	aj_syscalls_births_each(syscall_row, &not_refused);
	printf("\n## The relay of a jail's network\n\n"
	       "The relay reads what the jail and the network send. It is a process of agentjail outside the jail, under a filter with\n"
	       "these calls and no others.\n\n"
	       "| call | condition | why |\n|---|---|---|\n");
	aj_syscalls_relay_each(syscall_row, &not_refused);
	printf("\n## A command may call\n\n%d calls without a network, %d with one:\n\n",
	       aj_syscalls_allowed(AJ_PROFILE_COMMAND, AJ_NET_NONE), aj_syscalls_allowed(AJ_PROFILE_COMMAND, AJ_NET_HOST));
	syscalls(AJ_PROFILE_COMMAND, AJ_NET_HOST, false);
	printf("\n## A command is refused\n\n"
	       "Each call gets the errno of a kernel that forbids the call to a process without privileges, or that has no such feature:\n"
	       "programs handle these. A row without a condition is for what no other row of the call names. Such a row\n"
	       "with EINVAL or ENOTTY is not reported, as ENOSYS: libraries ask for what a kernel may not have all the time.\n\n");
	syscalls(AJ_PROFILE_COMMAND, AJ_NET_HOST, true);
	printf("\n## In neither list\n\n| call | condition | errno | why | instead |\n|---|---|---|---|---|\n");
	bool absent = true;
	aj_syscalls_absent_each(syscall_row, &absent);
	printf("\n## Groups that a policy can deny\n\n"
	       "The calls of a denied group get EPERM, although the list allows them. `clone3` is in no list.\n");
	for (int i = 0; i < AJ_DENY_GROUPS; i++) {
		bool refused = true;
		printf("\n### %s\n\n" REFUSED_HEAD, aj_deny_name(1ULL << i));
		aj_syscalls_denied_each(1ULL << i, syscall_row, &refused);
	}
	const char *before = "";
	printf("\n## Locks of a snippet that shares no writable file with the host\n\n"
	       "Each lock call of the snippet's one process returns success, and no lock is taken: on /dev/null and the Python tree a\n"
	       "lock would be the host's. Of `fcntl`: ");
	aj_syscalls_denied_each(AJ_LOCKS_INSIDE, print_why, &before);
	printf(".\n\n## Calls of a command that return 0 and are not made\n\n"
	       "`sync` and `syncfs` write out file systems of the host, and other processes wait for that. `fsync` and `fdatasync`\n"
	       "are made. `fadvise64` with POSIX_FADV_DONTNEED (4) would take files out of the page cache of the host, also\n"
	       "such that the jail may only read; its other advice is given.\n");
	static const struct {
		uint64_t group;
		const char *heading;
	} reported[] = {
		{ AJ_DENY_CONNECT,
		  "Reported where socket files of the host are in reach\n\n"
		  "A writable folder has such files. The connector makes each `connect` that is allowed; the others are refused." },
		{ AJ_DENY_AFFINITY,
		  "Refused where the jail's processors are its limit (`limits.cpu_percent` without a cpu cgroup)" },
		{ AJ_DENY_UNIX, "Refused instead where the supervisor cannot listen to the filter" },
		{ AJ_LOCKS_MEDIATED,
		  "Reported where locks on files are allowed\n\n"
		  "The supervisor lets a lock pass on regular files and folders of the jail's own, and of folders that are bound\n"
		  "writable; other locks are refused, and all of them where the supervisor cannot listen to the filter. A process has\n"
		  "one table of descriptors." },
		{ AJ_TCP_OPTIONS, "Options of TCP that a command is refused" },
		{ AJ_DENY_PTRACE,
		  "Tracing, where the policy does not allow it\n\n"
		  "With `process.ptrace = true` the processes of a command may trace one another, by the requests in the table of\n"
		  "[a command's calls](#a-command-may-call). What that costs is in [decisions](decisions.md#system-call-filters)." },
	};
	for (size_t i = 0; i < sizeof reported / sizeof *reported; i++) {
		bool refused = true;
		printf("\n## %s\n\n" REFUSED_HEAD, reported[i].heading);
		aj_syscalls_denied_each(reported[i].group, syscall_row, &refused);
	}
}

static void print_steps(void)
{
	static const struct {
		const char *name;
		unsigned who;
		const char *why;
	} steps[] = {
#define ROW(name, who, why) { #name, who, why },
		AJ_STEPS(ROW)
	};
	printf("| step | cold start | zygote | jail born from it | why here |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		printf("| `%s` | %s | %s | %s | %s |\n", steps[i].name,
		       steps[i].who & AJ_BY_INIT    ? "init"
		       : steps[i].who & AJ_BY_GUEST ? "guest"
		                                    : "",
		       steps[i].who & AJ_BY_ZYGOTE ? "zygote" : "", steps[i].who & AJ_BY_JAIL ? "guest" : "", steps[i].why);
}

/* "must: ..., may: ...", as far as there are any members. */
static void print_members(enum aj_op op)
{
	static const struct {
		const char *how, *intro;
	} parts[] = { { "yes", "" }, { "one", "one of: " }, { "may", "may: " } };
	bool first_part = true;
	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
		bool first = true;
		for (int m = 0; m < AJ_MEMBERS; m++) {
			const char *how = aj_op_holds(op, (enum aj_member)m);
			if (!how || strcmp(how, parts[p].how) != 0)
				continue;
			printf("%s%s`%s`", first ? (first_part ? "" : "; ") : ", ", first ? parts[p].intro : "",
			       aj_member_name((enum aj_member)m));
			first = first_part = false;
		}
	}
}

static void print_protocol(void)
{
	printf("| `op` | members | what it does |\n|---|---|---|\n");
	for (int op = 0; op < AJ_OPS; op++) {
		printf("| `%s` | ", aj_op_name((enum aj_op)op));
		print_members((enum aj_op)op);
		printf(" | %s |\n", aj_op_help((enum aj_op)op));
	}
	printf("\n| member | type | what it is |\n|---|---|---|\n");
	for (int m = 0; m < AJ_MEMBERS; m++)
		printf("| `%s` | %s | %s |\n", aj_member_name((enum aj_member)m), aj_member_type((enum aj_member)m),
		       aj_member_help((enum aj_member)m));
}

static void print_faults(void)
{
	printf("| `code` | what it means |\n|---|---|\n");
	for (int code = 0; code < AJ_CODES; code++)
		printf("| `%s` | %s |\n", aj_fault_name((enum aj_fault_code)code), aj_fault_help((enum aj_fault_code)code));
}

static void print_metrics(void)
{
	const char *name, *type, *labels, *help;
	printf("| metric | type | labels | what it says |\n|---|---|---|---|\n");
	for (size_t i = 0; aj_metric_row(i, &name, &type, &labels, &help); i++)
		printf("| `%s` | %s | %s | %s |\n", name, type, labels, help);
}

/* The keywords of JSON Schema that a tool's declaration may use, and their purpose. */
static void print_keywords(void)
{
	char types[80];
	printf("| keyword | looks at | takes | meaning |\n|---|---|---|---|\n");
	for (const struct aj_keyword *k = aj_keywords; k->name; k++)
		if (k->check) {
			const char *applies = k->applies == AJ_TYPE_ANY ? "every value" : aj_types_text(k->applies, types);
			printf("| `%s` | %s | %s | %s |\n", k->name, applies, k->argument, k->meaning);
		}
	printf("\nAnnotations: the schema's form is checked, but no value is checked against them.\n\n"
	       "| keyword | takes | meaning |\n|---|---|---|\n");
	for (const struct aj_keyword *k = aj_keywords; k->name; k++)
		if (!k->check)
			printf("| `%s` | %s | %s |\n", k->name, k->argument, k->meaning);
	printf("\nA schema with any other keyword is refused when it is declared. The common ones, and what to use instead:\n\n"
	       "| keyword | instead |\n|---|---|\n");
	for (const struct aj_refused_keyword *r = aj_refused_keywords; r->name; r++)
		printf("| `%s` | %s |\n", r->name, r->instead);
}

static void print_schema(int site)
{
	aj_schema_print(site, stdout);
}

static void print_etc(void)
{
	printf("| below /etc | why |\n|---|---|\n");
	for (size_t i = 0; aj_etc_rows[i].name; i++) {
		bool first = i == 0 || strcmp(aj_etc_rows[i].why, aj_etc_rows[i - 1].why) != 0;
		bool last = !aj_etc_rows[i + 1].name || strcmp(aj_etc_rows[i].why, aj_etc_rows[i + 1].why) != 0;
		printf("%s`%s`", first ? "| " : ", ", aj_etc_rows[i].name);
		if (last)
			printf(" | %s |\n", aj_etc_rows[i].why);
	}
	printf("\nAmong what is left out:\n\n");
	for (size_t i = 0; aj_etc_left_out[i].name; i++)
		printf("- `/etc/%s`: %s\n", aj_etc_left_out[i].name, aj_etc_left_out[i].why);
}

static void print_title(int section)
{
	printf(section == 1 ? ".TH AGENTJAIL 1 \"\" \"agentjail " AJ_VERSION "\" \"User Commands\"\n"
	                    : ".TH AGENTJAIL.TOML 5 \"\" \"agentjail " AJ_VERSION "\" \"File Formats\"\n");
}

static const struct part {
	const char *name;
	void (*print)(void); /* or: */
	void (*print_of)(int what);
	int what;
} parts[] = {
	{ "syscalls", .print = print_syscalls },
	{ "steps", .print = print_steps },
	{ "requests", .print = print_protocol },
	{ "faults", .print = print_faults },
	{ "metrics", .print = print_metrics },
	{ "keywords", .print = print_keywords },
	{ "etc", .print = print_etc },
	{ "policy-schema", .print_of = print_schema, .what = false },
	{ "site-schema", .print_of = print_schema, .what = true },
	{ "man-title-1", .print_of = print_title, .what = 1 },
	{ "man-title-5", .print_of = print_title, .what = 5 },
	{ "man-synopsis", .print = aj_man_synopsis },
	{ "man-exec", .print_of = aj_man_options, .what = AJ_FOR_EXEC },
	{ "man-run", .print_of = aj_man_options, .what = AJ_FOR_RUN },
	{ "man-session", .print_of = aj_man_options, .what = AJ_FOR_SESSION },
	{ "man-serve", .print_of = aj_man_options, .what = AJ_FOR_SERVE },
	{ "man-policy-keys", .print_of = aj_man_keys, .what = false },
	{ "man-site-keys", .print_of = aj_man_keys, .what = true },
	{ "man-codes", .print = aj_man_codes },
	{ "man-result", .print = aj_man_result },
	{ "result-fields", .print = aj_result_table },
	{ "result-schema", .print = aj_result_schema },
	{ "snippet-keys", .print = aj_snippet_keys },
	{ "run-options", .print = aj_snippet_client_options },
	{ "dictionary-policy", .print = aj_dictionary_policies },
	{ "dictionary-serve", .print = aj_dictionary_requests },
	{ "dictionary-tools", .print = aj_dictionary_schemas },
	{ "completions-bash", .print_of = aj_completions, .what = AJ_BASH },
	{ "completions-zsh", .print_of = aj_completions, .what = AJ_ZSH },
	{ "completions-fish", .print_of = aj_completions, .what = AJ_FISH },
};

static const struct part *find_part(const char *name)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strcmp(parts[i].name, name) == 0)
			return &parts[i];
	fprintf(stderr, "gen-docs: no part is called `%s`\n", name);
	return NULL;
}

static void print_part(const struct part *part)
{
	if (part->print)
		part->print();
	else
		part->print_of(part->what);
}

/* A marker is a comment of Markdown, troff or a shell that begins with the part's name and one of these words. */
static bool read_marker(const char *line, const char *word, char name[40])
{
	char found[8];
	if (sscanf(line, "<!-- %39[a-z0-9-] %7[a-z]", name, found) != 2 &&
	    sscanf(line, ".\\\" %39[a-z0-9-] %7[a-z]", name, found) != 2 &&
	    sscanf(line, "# %39[a-z0-9-] %7[a-z]", name, found) != 2)
		return false;
	return strcmp(found, word) == 0;
}

/* Prints the page with each part as the tables have it now. */
static int fill_page(FILE *page)
{
	static char line[1 << 16];
	const struct part *open = NULL;
	char name[40];
	while (fgets(line, sizeof line, page)) {
		if (open && read_marker(line, "end", name) && strcmp(name, open->name) == 0)
			open = NULL;
		if (open)
			continue;
		fputs(line, stdout);
		if (!read_marker(line, "begin", name))
			continue;
		if (!(open = find_part(name)))
			return 1;
		print_part(open);
	}
	if (open)
		fprintf(stderr, "gen-docs: `%s` has no end\n", open->name);
	return open != NULL;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--fill") == 0) {
		FILE *page = fopen(argv[2], "r");
		if (!page) {
			fprintf(stderr, "gen-docs: %s cannot be opened\n", argv[2]);
			return 1;
		}
		int failed = fill_page(page);
		fclose(page);
		return failed;
	}
	const struct part *part = argc == 2 ? find_part(argv[1]) : NULL;
	if (!part) {
		fputs("usage: gen-docs PART | gen-docs --fill PAGE\n", stderr);
		return 2;
	}
	print_part(part);
	return 0;
}
