/* Runs one jail under a preset whose fields the arguments change: jail [field=value]... [-- COMMAND...] or ... -c CODE.
 * It is for the tests of policy fields, has no opinion on them, and takes the host as it is but for what `host.` says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jail/once.h"
#include "policyload/load.h"

static struct aj_arena arena;
static struct aj_policy policy;
static struct aj_request request;
static bool dump, landlock = true;

struct word {
	const char *name;
	uint64_t value;
};

static uint64_t look_up(const struct word *words, const char *name)
{
	for (; words->name; words++)
		if (strcmp(words->name, name) == 0)
			return words->value;
	fprintf(stderr, "jail: no `%s`\n", name);
	exit(2);
}

static const struct word switches[] = { { "on", 1 }, { "off", 0 }, { 0 } };
static const struct word networks[] = {
	{ "none", AJ_NET_NONE }, { "loopback", AJ_NET_LOOPBACK }, { "allow", AJ_NET_ALLOW }, { "host", AJ_NET_HOST }, { 0 }
};
static const struct word workspaces[] = { { "none", AJ_WORKSPACE_NONE },
	                                  { "ro", AJ_WORKSPACE_READ_ONLY },
	                                  { "overlay", AJ_WORKSPACE_OVERLAY },
	                                  { "rw", AJ_WORKSPACE_READ_WRITE },
	                                  { 0 } };
static const struct word denied[] = { { "threads", AJ_DENY_THREADS }, { "sockets", AJ_DENY_SOCKETS },
	                              { "ipc", AJ_DENY_IPC },         { "inotify", AJ_DENY_INOTIFY },
	                              { "locks", AJ_DENY_LOCKS },     { "memfd", AJ_DENY_MEMFD },
	                              { "fork", AJ_DENY_FORK },       { 0 } };
static const struct word required[] = { { "landlock", AJ_WALL_LANDLOCK },         { "memory-cgroup", AJ_WALL_MEMORY_CGROUP },
	                                { "pids-cgroup", AJ_WALL_PIDS_CGROUP },   { "network", AJ_WALL_NETWORK },
	                                { "python-layer", AJ_WALL_PYTHON_LAYER }, { 0 } };

typedef AJ_LIST(const char *) texts;

static const struct field {
	const char *name;
	enum { TEXT, LIST, SWITCH, CHOICE, BITS, NUMBER } kind;
	void *at;
	const struct word *words;
} fields[] = {
	{ "bind", LIST, &policy.binds, NULL },
	{ "mask", LIST, &policy.masks, NULL },
	{ "env", LIST, &policy.env, NULL },
	{ "rootfs", TEXT, &policy.rootfs, NULL },
	{ "workspace", CHOICE, &policy.workspace, workspaces },
	{ "network", CHOICE, &policy.network, networks },
	{ "exec", SWITCH, &policy.exec, switches },
	{ "fork", SWITCH, &policy.fork, switches },
	{ "layer", SWITCH, &policy.layer, switches },
	{ "deny", BITS, &policy.deny_syscalls, denied },
	{ "require", BITS, &policy.require, required },
	{ "uid", NUMBER, &policy.uid, NULL },
	{ "memory", NUMBER, &policy.memory_bytes, NULL },
	{ "request.workspace", TEXT, &request.workspace, NULL },
	{ "request.inspect", SWITCH, &request.inspect, switches },
	{ "host.landlock", SWITCH, &landlock, switches },
	{ "dump", SWITCH, &dump, switches },
};

static void set(const char *name, size_t name_bytes, const char *value)
{
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const struct field *f = &fields[i];
		if (strlen(f->name) != name_bytes || memcmp(f->name, name, name_bytes) != 0)
			continue;
		switch (f->kind) {
		case TEXT:
			*(const char **)f->at = value;
			return;
		case LIST:
			*AJ_PUSH(&arena, (texts *)f->at) = value;
			return;
		case SWITCH:
			*(bool *)f->at = look_up(f->words, value);
			return;
		case CHOICE:
			*(unsigned *)f->at = (unsigned)look_up(f->words, value);
			return;
		case BITS:
			*(uint64_t *)f->at |= look_up(f->words, value);
			return;
		case NUMBER:
			*(uint64_t *)f->at = strtoull(value, NULL, 10);
			return;
		}
	}
	fprintf(stderr, "jail: no field `%s`\n", name);
	exit(2);
}

static int report(const struct aj_error *err)
{
	char text[600];
	fprintf(stderr, "jail: %s\n", aj_error_text(err, text, sizeof text));
	if (err->fix[0])
		fprintf(stderr, "  fix: %s\n", err->fix);
	return err->exit_code;
}

int main(int argc, char **argv)
{
	int first = 1;
	while (first < argc && argv[first][0] != '-')
		first++;
	if (first + 1 >= argc)
		return 2;
	bool snippet = strcmp(argv[first], "-c") == 0;
	aj_policy_preset(&policy, &arena, snippet ? "snippet" : "command");
	request = (struct aj_request){ .snippet = snippet, .id = "test", .filename = "<snippet>", .terminal_fd = -1 };
	request.rootfs = getenv("AGENTJAIL_ROOTFS");
	request.argv = argv + first + 1;
	request.code = snippet ? argv[first + 1] : NULL;
	request.code_bytes = snippet ? strlen(request.code) : 0;
	for (int i = 1; i < first; i++) {
		size_t name_bytes = strcspn(argv[i], "=");
		set(argv[i], name_bytes, argv[i] + name_bytes + (argv[i][name_bytes] == '='));
	}
	struct aj_error err = { 0 };
	struct aj_host host;
	struct aj_plan plan;
	struct aj_result result;
	if (aj_host_gather(&host, &arena, NULL, &err) < 0)
		return report(&err);
	if (!landlock)
		host.landlock_abi = 0;
	if (aj_plan_build(&plan, &arena, &policy, &request, &host, &err) < 0)
		return report(&err);
	if (dump) {
		aj_plan_dump(&plan, stdout);
		return 0;
	}
	aj_run_once(&plan, &policy, &request, NULL, NULL, &result);
	int code = aj_status_exit_code(&result, &plan);
	if (snippet) {
		json_t *doc = aj_result_json(&result, &plan, &policy, &request);
		json_dumpf(doc, stdout, JSON_COMPACT);
		json_decref(doc);
		putchar('\n');
	} else if (result.status == AJ_STATUS_SETUP_ERROR) {
		report(&result.setup);
	}
	aj_result_free(&result);
	aj_arena_free(&arena);
	return code;
}
