/* The options of exec, run, session and serve: one table, and a function for each whose value is no key of the policy.
 * An invalid value is refused with the reason; a value that sets a key is checked here, and merged when the policy is loaded. */
#include "cli/options/table.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/options/sign.h"
#include "policy/bind.h"
#include "policy/host/home.h"
#include "policy/hosts.h"
#include "policy/published_ports.h"

static const char *set_json(struct aj_options *o, const char *v)
{
	(void)v;
	o->json = true;
	o->request.capture = true;
	return NULL;
}

static const char *set_json_fd(struct aj_options *o, const char *v)
{
	uint64_t fd;
	if (!aj_parse_count(v, &fd) || fd < 3 || fd > INT_MAX || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return "not the number of an inherited descriptor, from 3";
	o->json_to = fdopen((int)fd, "w");
	return o->json_to ? set_json(o, NULL) : "not a descriptor open for writing";
}

static const char *set_report(struct aj_options *o, const char *v)
{
	size_t bytes = strlen(v);
	o->report = v;
	return (bytes > 5 && strcmp(v + bytes - 5, ".json") == 0) || (bytes > 3 && strcmp(v + bytes - 3, ".md") == 0)
	         ? NULL
	         : "not a file name that ends in .json or .md";
}

static const char *set_mcp(struct aj_options *o, const char *v)
{
	(void)v;
	o->mcp = true;
	return NULL;
}

static const char *set_dry_run(struct aj_options *o, const char *v)
{
	(void)v;
	o->dry_run = true;
	return NULL;
}

static const char *set_local(struct aj_options *o, const char *v)
{
	(void)v;
	o->ask.local_asked = true;
	return NULL;
}

static const char *set_code(struct aj_options *o, const char *v)
{
	o->code = v;
	return NULL;
}

/* Add an option that sets a key of the policy: its value is checked here, and merged when the policy is loaded. */
static const char *push_setting(struct aj_options *o, const char *option, const char *key, const char *value, bool request_only)
{
	struct aj_policy scratch = { 0 };
	const char *wrong = request_only ? NULL : aj_key_set_text(aj_key_find(aj_policy_keys, key), &scratch, o->arena, value);
	if (!wrong)
		*AJ_PUSH(o->arena, &o->ask.settings) = (struct aj_setting){
			.option = option, .key = key, .value = value, .request_only = request_only
		};
	return wrong;
}

static const char *on_off(struct aj_options *o, const char *option, const char *key, const char *v, const char *on,
                          const char *off)
{
	if (strcmp(v, on) != 0 && strcmp(v, off) != 0)
		return aj_printf(o->arena, "not one of %s, %s", on, off);
	return push_setting(o, option, key, strcmp(v, on) == 0 ? "true" : "false", false);
}

static const char *set_layer(struct aj_options *o, const char *v)
{
	return on_off(o, "--layer", "python.layer", v, "on", "off");
}

static const char *set_proc(struct aj_options *o, const char *v)
{
	return on_off(o, "--proc", "filesystem.proc", v, "fresh", "none");
}

static const char *set_policy(struct aj_options *o, const char *v)
{
	o->ask.name = v;
	return o->ask.file             ? "given together with --policy-file"
	     : aj_policy_name_valid(v) ? NULL
	                               : "not a policy's name (letters, digits, - and _); for a file use --policy-file";
}

static const char *set_policy_file(struct aj_options *o, const char *v)
{
	o->ask.file = v;
	return o->ask.name ? "given together with --policy" : *v ? NULL : "empty";
}

static const char *set_config(struct aj_options *o, const char *v)
{
	o->config = v;
	return *v ? NULL : "empty";
}

static const char *set_workspace(struct aj_options *o, const char *v)
{
	o->request.workspace = v;
	return *v ? NULL : "empty";
}

static const char *set_workspace_mode(struct aj_options *o, const char *v)
{
	const char *value = strcmp(v, "ro") == 0 ? "read-only" : strcmp(v, "rw") == 0 ? "read-write" : v;
	if (value == v && strcmp(v, "overlay") != 0 && strcmp(v, "copy") != 0)
		return "not one of ro, overlay, copy, rw";
	return push_setting(o, "--workspace-mode", "filesystem.workspace", value, false);
}

static const char *set_changes(struct aj_options *o, const char *v)
{
	o->changes_new = strcmp(v, "new") == 0;
	o->request.changes_newest = strcmp(v, "continue") == 0;
	o->request.changes = o->changes_new || o->request.changes_newest ? NULL : v;
	return *v ? NULL : "empty";
}

static const char *set_changes_end(struct aj_options *o, const char *v)
{
	o->changes_keep = strcmp(v, "keep") == 0;
	return o->changes_keep || strcmp(v, "ask") == 0 ? NULL : "not one of ask, keep";
}

static const char *add_env(struct aj_options *o, const char *v)
{
	const char *eq = strchr(v, '=');
	if (!eq) {
		const char *value = getenv(v);
		if (!*v || !value)
			return "neither NAME=VALUE nor the name of a variable that is set here";
		v = aj_printf(o->arena, "%s=%s", v, value);
	} else if (eq == v) {
		return "without a name";
	}
	/* A snippet gets its variables after Python has started, so these would have no effect. */
	if (strncmp(v, "LD_", 3) == 0 || strncmp(v, "PYTHON", 6) == 0)
		if (o->request.is_snippet)
			return "LD_* and PYTHON* have no effect on a snippet";
	*AJ_PUSH(o->arena, &o->request.env) = v;
	return push_setting(o, "--env", "process.env", v, true);
}

/* A snippet's variables are given with their values: a name alone is an environment's. */
static const char *set_env(struct aj_options *o, const char *v)
{
	if (!*v)
		return "empty";
	return strchr(v, '=') ? add_env(o, v) : push_setting(o, "--env", "python.env", v, false);
}

static const char *add_input(struct aj_options *o, const char *v)
{
	const char *eq = strchr(v, '=');
	if (!eq || eq == v)
		return "not NAME=JSON";
	*AJ_PUSH(o->arena, &o->inputs) = v;
	return NULL;
}

static const char *set_stdin(struct aj_options *o, const char *v)
{
	o->stdin_file = v;
	return *v ? NULL : "empty";
}

/* A host path as a shell gives it. NULL, or the error. */
static const char *host_path(struct aj_options *o, const char *v, const char **ret)
{
	char *cwd = getcwd(NULL, 0);
	const char *wrong = aj_host_path(o->arena, v, v[0] == '~' ? aj_home_of_caller(o->arena) : NULL, cwd, ret);
	free(cwd);
	return wrong;
}

static const char *add_socket(struct aj_options *o, const char *v)
{
	const char *wrong = host_path(o, v, &v);
	return wrong ? wrong : push_setting(o, "--connect", "filesystem.sockets", v, false);
}

/* Settings and files that a person could write out: a site's locks of these keys hold. */
static const char *set_sign(struct aj_options *o, const char *v)
{
	struct aj_signing signing;
	const char *wrong = NULL;
	(void)v;
	aj_signing_find(&signing, o->arena);
	if (!signing.ssh_socket && !signing.gpg_socket)
		return "no agent is running: SSH_AUTH_SOCK names no socket, and gpg-agent has no S.gpg-agent.extra (`gpgconf --launch gpg-agent`)";
	if (signing.ssh_socket) {
		wrong = push_setting(o, "--sign", "filesystem.sockets", signing.ssh_socket, false);
		*AJ_PUSH(o->arena, &o->request.env) = aj_printf(o->arena, "SSH_AUTH_SOCK=%s", signing.ssh_socket);
	}
	if (signing.gpg_socket && !wrong) {
		wrong = push_setting(o, "--sign", "filesystem.sockets", signing.gpg_socket, false);
		*AJ_PUSH(o->arena, &o->request.imports) = (struct aj_import){ .path = ".gnupg/S.gpg-agent",
			                                                      .data = signing.gpg_redirect,
			                                                      .bytes = strlen(signing.gpg_redirect) };
	}
	for (size_t i = 0; i < signing.public_keys.count && !wrong; i++)
		wrong = push_setting(o, "--sign", "filesystem.home_import", signing.public_keys.items[i], false);
	return wrong;
}

static const char *add_bind(struct aj_options *o, const char *v)
{
	struct aj_bind bind;
	const char *wrong = host_path(o, v, &v);
	if (!wrong)
		wrong = aj_bind_parse(o->arena, v, &bind);
	if (!wrong)
		*AJ_PUSH(o->arena, &o->request.binds) = bind;
	return wrong ? wrong : push_setting(o, "--bind", "filesystem.binds", v, true);
}

/* Add to the policy's hosts. The default port is 443; the host's loopback requires a port. */
static const char *add_host(struct aj_options *o, const char *v)
{
	struct aj_host_rule rule;
	const char *with_port = aj_printf(o->arena, "%s:443", v);
	if (aj_host_rule_parse(v, &rule) && !aj_host_rule_parse(with_port, &rule) && rule.kind != AJ_HOST_LOOPBACK)
		v = with_port;
	const char *wrong = push_setting(o, "--allow-host", "network.mode", "allow", false);
	return wrong ? wrong : push_setting(o, "--allow-host", "network.allow", v, false);
}

/* A server in the jail needs the loopback interface that the client connects by; an address that others reach is said to the
 * site's locks. */
static const char *add_published(struct aj_options *o, const char *v)
{
	static const char option[] = "--publish";
	struct aj_publish_rule rule;
	const char *wrong = aj_publish_rule_parse(v, &rule);
	if (!wrong)
		*AJ_PUSH(o->arena, &o->ask.settings) = (struct aj_setting){
			.option = option, .key = "network.mode", .value = "loopback", .at_least = true
		};
	if (!wrong && !rule.loopback)
		wrong = push_setting(o, option, "network.publish_to", "any", false);
	return wrong ? wrong : push_setting(o, option, "network.publish", v, false);
}

static const char *push_asking(struct aj_options *o, const char *option)
{
	if ((o->request.ask.command != NULL) + (o->request.ask.fd != 0) + o->request.ask.terminal > 1)
		return "one of --network-ask, --network-ask-command and --network-ask-fd";
	*AJ_PUSH(o->arena, &o->ask.settings) = (struct aj_setting){
		.option = option, .key = "network.mode", .value = "allow", .at_least = true
	};
	return push_setting(o, option, "network.ask", "true", false);
}

static const char *set_ask(struct aj_options *o, const char *v)
{
	(void)v;
	o->request.ask.terminal = true;
	return push_asking(o, "--network-ask");
}

static const char *set_ask_command(struct aj_options *o, const char *v)
{
	o->request.ask.command = v;
	return *v ? push_asking(o, "--network-ask-command") : "empty";
}

static const char *set_ask_fd(struct aj_options *o, const char *v)
{
	uint64_t fd;
	struct stat st;
	if (!aj_parse_count(v, &fd) || fd < 3 || fd > INT_MAX || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return "not the number of an inherited descriptor, from 3";
	if (fstat((int)fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return "not a socket: questions go out and answers come back on the one descriptor";
	o->request.ask.fd = (int)fd;
	return push_asking(o, "--network-ask-fd");
}

static const char *set_ask_save(struct aj_options *o, const char *v)
{
	o->request.ask.save = v;
	return *v ? NULL : "empty";
}

static const char *add_file(struct aj_options *o, const char *v)
{
	const char *rest = strchrnul(v, ':');
	if (rest[0] != ':' || rest[1] != '/') { /* no path in the jail: /input and the file's own name */
		const char *source = aj_strndup(o->arena, v, (size_t)(rest - v)), *slash = strrchr(source, '/');
		if (*source)
			v = aj_printf(o->arena, "%s:/input/%s%s", source, slash ? slash + 1 : source, rest);
	}
	struct aj_bind bind;
	const char *wrong = aj_bind_parse(o->arena, v, &bind);
	if (!wrong && bind.writable)
		wrong = "an input file is always read-only";
	for (size_t i = 0; !wrong && i < o->request.binds.count; i++)
		if (strcmp(o->request.binds.items[i].target, bind.target) == 0)
			wrong = aj_printf(o->arena,
			                  "`%s` is already at %s: choose another path for one of them, as HOST:/input/NAME",
			                  o->request.binds.items[i].source, bind.target);
	if (!wrong)
		*AJ_PUSH(o->arena, &o->request.binds) = bind;
	return wrong ? wrong : push_setting(o, "--file", "filesystem.binds", v, true);
}

static const char *set_output(struct aj_options *o, const char *v)
{
	o->output = v;
	o->request.snippet.output_files = AJ_OUTPUT_LIST;
	return *v ? NULL : "empty";
}

static const char *set_chdir(struct aj_options *o, const char *v)
{
	o->request.command.chdir = v;
	return v[0] == '/' ? NULL : "not an absolute path in the jail";
}

static const char *set_cgroup(struct aj_options *o, const char *v)
{
	o->request.cgroup = v;
	return v[0] == '/' ? NULL : "not an absolute path";
}

static const char *set_rootfs(struct aj_options *o, const char *v)
{
	o->request.rootfs = v;
	/* --rootfs names a folder, never a tree of the configuration: `default` here is ./default. */
	const char *folder = strchr(v, '/') ? v : aj_printf(o->arena, "./%s", v);
	return *v ? push_setting(o, "--rootfs", "filesystem.rootfs", folder, true) : "empty";
}

static const char *set_id(struct aj_options *o, const char *v)
{
	size_t bytes = strlen(v);
	o->request.id = v;
	return bytes && bytes <= 128 && aj_utf8_valid_prefix(v, bytes) == bytes ? NULL : "not 1 to 128 bytes of UTF-8";
}

const struct aj_option aj_option_table[] = {
	{ .help = "Policy" },
	{ "--policy", "NAME", AJ_FOR_JAIL, set_policy, NULL, "a policy of `agentjail policy list` (snippet; run: command)" },
	{ "--policy-file", "FILE", AJ_FOR_JAIL, set_policy_file, NULL, "a policy by its path; see agentjail.toml(5)" },
	{ "--local-policy", NULL, AJ_FOR_JAIL | AJ_FOR_POLICY, set_local, NULL,
	  "use the agentjail-policy.toml of the working directory, which may only tighten" },
	{ "--config", "FILE", AJ_FOR_ALL | AJ_FOR_POLICY, set_config, NULL,
	  "a site's configuration, where there is no /etc/agentjail/agentjail.toml" },
	{ .help = "Snippet" },
	{ "-c", "CODE", AJ_FOR_EXEC, set_code, NULL, "the code of the snippet" },
	{ "--allow-import", "MODULE", AJ_FOR_SNIPPETS, NULL, "python.imports",
	  "allow one more module, `package.*` with its submodules, or `*` (repeatable)" },
	{ "--imports-checked", "WHEN", AJ_FOR_SNIPPETS, NULL, "python.imports_checked",
	  "before (default): report refused imports before any code runs; run: where the import stands" },
	{ "--builtins", "SET", AJ_FOR_SNIPPETS, NULL, "python.builtins", "minimal, static, standard (default) or full" },
	{ "--clock", "TIME", AJ_FOR_SNIPPETS, NULL, "python.clock",
	  "what time and datetime show: real (default), 2026-01-01T00:00:00Z (fixed), +24h or -90s (shifted)" },
	{ "--sleep-max", "TIME", AJ_FOR_SNIPPETS, NULL, "python.sleep_max",
	  "longest time that one call of time.sleep() takes (default: any)" },
	{ "--layer", "on|off", AJ_FOR_SNIPPETS | AJ_FOR_POLICY, set_layer, NULL,
	  "off: no import check, no restricted builtins; only the kernel's walls" },
	{ "--input", "NAME=JSON", AJ_FOR_EXEC, add_input, NULL, "a variable for the snippet (repeatable)" },
	{ "--stdin", "FILE", AJ_FOR_EXEC, set_stdin, NULL,
	  "text that the snippet reads from its standard input; "
	  "-: the standard input of agentjail, unless that is the snippet (default: nothing)" },
	{ "--value-of", "expression|statement", AJ_FOR_EXEC | AJ_FOR_SESSION, NULL, NULL,
	  "expression (default): a last expression has a value; statement: a last assignment, too" },
	{ "--seed", "N", AJ_FOR_EXEC | AJ_FOR_SESSION, NULL, NULL,
	  "seed `random` and numpy's older random functions, as random.seed(N) does; "
	  "a session as it begins (default: differs each time)" },
	{ .help = "Files and workspace" },
	{ "--file", "HOST[:JAIL]", AJ_FOR_EXEC, add_file, NULL,
	  "a read-only input, which open() reads; without JAIL it is /input/NAME (repeatable)" },
	{ "--output", "DIR", AJ_FOR_EXEC, set_output, NULL,
	  "copy the files that the snippet leaves in /output to DIR, which is created or must be empty" },
	{ "--rootfs", "DIR", AJ_FOR_ALL | AJ_FOR_POLICY, set_rootfs, NULL,
	  "the Python tree to use, under a policy that shows one; see `agentjail rootfs`" },
	{ "--bind", "HOST[:JAIL][:rw]", AJ_FOR_RUN, add_bind, NULL,
	  "show a host path in the jail, read-only unless :rw; outer folders first (repeatable)" },
	{ "--connect", "SOCKET", AJ_FOR_RUN | AJ_FOR_POLICY, add_socket, NULL,
	  "show a Unix socket of the host and allow the command to connect to it (repeatable)" },
	{ "--sign", NULL, AJ_FOR_RUN, set_sign, NULL,
	  "let git sign with your ssh-agent and gpg-agent: their sockets and your public keys; "
	  "the command can use these keys while it runs" },
	{ "--workspace", "DIR", AJ_FOR_JAIL | AJ_FOR_POLICY, set_workspace, NULL,
	  "the folder that a policy with a workspace shows" },
	{ "--workspace-mode", "ro|overlay|copy|rw", AJ_FOR_BOTH | AJ_FOR_POLICY, set_workspace_mode, NULL,
	  "how the workspace is shown; changes of overlay and copy are kept apart, for `agentjail changes`" },
	{ "--workspace-at", "/workspace|same", AJ_FOR_JAIL, NULL, "filesystem.workspace_at",
	  "its path in the jail: /workspace, or its own path on the host" },
	{ "--changes", "continue|new|ID", AJ_FOR_BOTH, set_changes, NULL,
	  "continue with the changes of an earlier run on the same workspace: "
	  "of the newest with this policy (default of `run`), of none, or of run ID" },
	{ "--changes-end", "ask|keep", AJ_FOR_RUN, set_changes_end, NULL,
	  "at the end of a run at a terminal: ask whether to apply its changes (the default), or keep them" },
	{ "--home", "empty|kept", AJ_FOR_RUN, NULL, "filesystem.home",
	  "the home: empty, or kept for this policy and workspace; see `agentjail homes`" },
	{ "--home-scope", "workspace|policy", AJ_FOR_RUN, NULL, "filesystem.home_scope",
	  "keep one home per workspace, or one for all workspaces of the policy" },
	{ "--toolchain", "auto|none|NAME", AJ_FOR_RUN, NULL, "filesystem.toolchains",
	  "show toolchains outside of /usr: those found by PATH, none, or one by its name (repeatable)" },
	{ "--proc", "fresh|none", AJ_FOR_RUN | AJ_FOR_POLICY, set_proc, NULL,
	  "whether the jail gets a /proc of its own (default fresh)" },
	{ .help = "Network" },
	{ "--network", "MODE", AJ_FOR_RUN, NULL, "network.mode",
	  "none (default), loopback, allow (by the policy's list) or host" },
	{ "--allow-host", "HOST[:PORT]", AJ_FOR_RUN, add_host, NULL,
	  "also allow connections to this host; sets --network allow. "
	  "A name, `*.name` or an address, with port 443 unless another is given; "
	  "`host:PORT` is a port of the host's own 127.0.0.1 and ::1, "
	  "to which the jail connects by the name `host` (repeatable)" },
	{ "--network-ask", NULL, AJ_FOR_RUN | AJ_FOR_POLICY, set_ask, NULL,
	  "ask at the terminal before a connection to a name that is not on the list" },
	{ "--network-ask-command", "CMD", AJ_FOR_RUN, set_ask_command, NULL,
	  "ask this shell command about each name that is not on the list: one line of JSON on its standard input, "
	  "one on its output; see docs/reference/network.md" },
	{ "--network-ask-fd", "FD", AJ_FOR_RUN, set_ask_fd, NULL, "ask by the same lines on this inherited socket" },
	{ "--network-ask-timeout", "TIME", AJ_FOR_RUN, NULL, "network.ask_timeout",
	  "time for one answer (60s); then it counts as no" },
	{ "--network-ask-save", "FILE", AJ_FOR_RUN, set_ask_save, NULL,
	  "add each name allowed for this run to network.allow of this policy file, which is created if missing" },
	{ "--publish", "[HOST:]PORT[:GUESTPORT]", AJ_FOR_RUN, add_published, NULL,
	  "publish a port of the jail on this host, on 127.0.0.1 unless HOST is another address (repeatable)" },
	{ .help = "Program" },
	{ "--chdir", "DIR", AJ_FOR_RUN, set_chdir, NULL, "start in this folder of the jail (default the workspace or /tmp)" },
	{ "--env", "NAME[=VALUE]", AJ_FOR_EXEC, set_env, NULL,
	  "NAME: give the snippet the packages of this environment, see `agentjail env`; NAME=VALUE: set a variable (repeatable)" },
	{ "--env", "NAME", AJ_FOR_SESSION | AJ_FOR_SERVE, NULL, "python.env",
	  "give snippets the packages of this environment, see `agentjail env`" },
	{ "--env", "NAME[=VALUE]", AJ_FOR_RUN, add_env, NULL,
	  "set a variable, or pass on the caller's; otherwise only TERM, COLORTERM and the language are passed, "
	  "and only to a terminal (repeatable)" },
	{ "--mcp", NULL, AJ_FOR_RUN, set_mcp, NULL,
	  "COMMAND is an MCP server on standard input and output (default policy mcp-server); "
	  "errors at its start are sent to its client" },
	{ .help = "Limits" },
	{ "--timeout", "TIME", AJ_FOR_ALL, NULL, "limits.wall", "wall clock limit of a run: 500ms, 10s, 2m (30s; run: none)" },
	{ "--memory", "SIZE", AJ_FOR_ALL, NULL, "limits.memory", "memory limit: 256M, 2G (512M; run: none)" },
	{ "--pids", "N", AJ_FOR_ALL, NULL, "limits.pids", "processes and threads (32; run: 512)" },
	{ "--cpu-percent", "N", AJ_FOR_ALL, NULL, "limits.cpu_percent",
	  "share of processors, 100 is one; without cgroup v2 whole processors, rounded up (default none)" },
	{ "--limits", "MODE", AJ_FOR_ALL, NULL, "limits.enforce",
	  "best-effort (default): rlimits where there is no cgroup v2; strict: refuse to run there" },
	{ "--cgroup", "DIR", AJ_FOR_ALL, set_cgroup, NULL, "a delegated cgroup v2 directory for the jail" },
	{ .help = "Result" },
	{ "--json", NULL, AJ_FOR_JAIL | AJ_FOR_POLICY, set_json, NULL,
	  "print the whole result as one JSON object on one line; run: with the output in it" },
	{ "--json-fd", "FD", AJ_FOR_RUN, set_json_fd, NULL,
	  "write that object to this inherited descriptor, and pass output on as it arrives, up to half of output.capture" },
	{ "--for-model", NULL, AJ_FOR_EXEC, NULL, NULL, "with --json: for_model in the result, a text for a model to read" },
	{ "--report", "FILE", AJ_FOR_BOTH, set_report, NULL,
	  "write what happened to this file when the run has ended: FILE.json is the whole result, FILE.md is for people" },
	{ "--id", "TEXT", AJ_FOR_BOTH, set_id, NULL, "name of this run in its result (default: random)" },
	{ "--dry-run", NULL, AJ_FOR_BOTH, set_dry_run, NULL,
	  "print the plan, without the values of --env and of what looks like a secret, and run nothing" },
	{ .help = "Service" },
	{ "--policy", "NAME", AJ_FOR_SERVE, NULL, NULL,
	  "a policy to serve; the first is the default (repeatable; without one: the site's for exec)" },
	{ "--policy-file", "FILE", AJ_FOR_SERVE, NULL, NULL, "a policy to serve, by its path (repeatable)" },
	{ "--socket", "PATH", AJ_FOR_SERVE, NULL, NULL,
	  "where to listen (default agentjail.sock below $XDG_RUNTIME_DIR; root: /run/agentjail)" },
	{ "--connection", "FD", AJ_FOR_SERVE, NULL, NULL,
	  "serve this inherited, connected socket alone; the service ends with it, and with the process that made it" },
	{ "--metrics", "WHERE", AJ_FOR_SERVE, NULL, NULL, "metrics for Prometheus, at an absolute path or 127.0.0.1:PORT" },
	{ "--shards", "N", AJ_FOR_SERVE, NULL, NULL,
	  "processes that serve clients: each serves a part of the tenants, with its share of most limits below" },
	{ "--parked", "N", AJ_FOR_SERVE, NULL, NULL, "jails that are kept ready, for each policy and tenant" },
	{ "--jails-max", "N", AJ_FOR_SERVE, NULL, NULL, "jails in use at a time, not counting parked jails" },
	{ "--sessions-max", "N", AJ_FOR_SERVE, NULL, NULL,
	  "open sessions; each needs a jail, so if only one of --jails-max and --sessions-max is given, it sets the other" },
	{ "--tenant-sessions", "N", AJ_FOR_SERVE, NULL, NULL, "open sessions of one named tenant; 0: half of --sessions-max" },
	{ "--queue-max", "N", AJ_FOR_SERVE, NULL, NULL, "requests that may wait for a jail; one client may have half of them" },
	{ "--queue-time", "TIME", AJ_FOR_SERVE, NULL, NULL,
	  "how long a request waits for a jail before it fails as busy; 0: no limit" },
	{ "--clients-max", "N", AJ_FOR_SERVE, NULL, NULL, "connections at a time" },
	{ "--pools-max", "N", AJ_FOR_SERVE, NULL, NULL,
	  "pairs of policy and tenant that are kept warm; the least recently used is dropped first" },
	{ "--idle", "TIME", AJ_FOR_SERVE, NULL, NULL, "end a session after this time without a snippet; 0: never" },
	{ "--lifetime", "TIME", AJ_FOR_SERVE, NULL, NULL,
	  "end a session and its checkpoints after this time, even while a snippet runs; 0: never" },
	{ "--grace", "TIME", AJ_FOR_SERVE, NULL, NULL, "how long snippets may continue after SIGTERM" },
	{ "--request-max", "SIZE", AJ_FOR_SERVE, NULL, NULL, "largest request" },
	{ "--request-time", "TIME", AJ_FOR_SERVE, NULL, NULL,
	  "how long a client may take to send a request, from its first byte to its last" },
	{ "--unread-max", "SIZE", AJ_FOR_SERVE, NULL, NULL, "drop a client that leaves more than this unread" },
	{ 0 },
};

static const char *apply(struct aj_options *o, const struct aj_option *option, const char *value)
{
	bool of_snippet = !option->set && !option->key && aj_snippet_find(option->name + strlen("--"));
	return of_snippet  ? aj_snippet_set_text(&o->request.snippet, option->name + strlen("--"), value, o->arena)
	     : option->set ? option->set(o, value)
	     : option->key ? push_setting(o, option->name, option->key, value, false)
	                   : aj_serve_options_set(&o->serving, option->name, value, o->arena);
}

/* The word of `ro|overlay|copy|rw` that `value` misspells; NULL: none. */
static const char *word_meant(const struct aj_option *option, const char *value, struct aj_arena *arena)
{
	AJ_LIST(const char *) words = { 0 };
	for (const char *at = option->value; at && *at; at += strspn(at, "|")) {
		size_t bytes = strcspn(at, "|");
		if (bytes && islower((unsigned char)*at)) /* NAME, ID: any value */
			*AJ_PUSH(arena, &words) = aj_strndup(arena, at, bytes);
		at += bytes;
	}
	return words.count > 1 ? aj_suggest_name(value, words.items, words.count) : NULL;
}

const char *aj_option_apply(struct aj_options *o, const struct aj_option *option, const char *value)
{
	const char *wrong = apply(o, option, value),
		   *meant = wrong && value && !option->key ? word_meant(option, value, o->arena) : NULL;
	return meant ? aj_printf(o->arena, "%s; did you mean \"%s\"?", wrong, meant) : wrong;
}
