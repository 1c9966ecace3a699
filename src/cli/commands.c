/* The table of commands: main.c runs them, and the completions of shells are generated from it.
 * It holds no logic; a row whose options are not in the table of options has them in its synopsis. */
#include "cli/command.h"
#include "cli/options/options.h"

const struct aj_subcommand aj_commands[] = {
	{ "exec", aj_cmd_exec, AJ_FOR_EXEC, "exec [options] [FILE | -c CODE | -]",
	  "run one Python snippet in a jail and print its result", "Run code" },
	{ "run", aj_cmd_run, AJ_FOR_RUN, "run [options] -- COMMAND [ARGUMENT...]", "run a program of this host in a jail", NULL },
	{ "session", aj_cmd_session, AJ_FOR_SESSION, "session [options]",
	  "a Python shell in one jail: each snippet runs as it is typed", NULL },
	{ "serve", aj_cmd_serve, AJ_FOR_SERVE, "serve [options]",
	  "keep jails ready and run snippets and sessions for clients of a socket", "Serve programs" },
	{ "mcp", aj_cmd_mcp, 0, "mcp [--workspace DIR] [--http HOST:PORT] ...",
	  "an MCP server with Python, commands and files in jails; see docs/guides/mcp.md", NULL },
	{ "changes", aj_cmd_changes, 0, "changes [list|show|diff|apply|fetch|discard] [ID] [PATH...] ...",
	  "apply or discard the changes of runs in an overlay or a copy of a workspace", "Changes and policies" },
	{ "policy", aj_cmd_policy, 0, "policy list|show|explain|check|diff|schema ...", "show policies, and ask what they allow",
	  NULL },
	{ "env", aj_cmd_env, 0, "env create|list|show|verify|update|remove|path ...",
	  "environments: Python packages for snippets, downloaded by uv or pip", "Packages" },
	{ "doctor", aj_cmd_doctor, 0, "doctor [--json] [--config FILE] | --apparmor",
	  "list what this host can enforce, and how to enable what is missing", "This host" },
	{ "rootfs", aj_cmd_rootfs, 0, "rootfs verify|path [DIR]", "check the Python tree against its manifest, or print its path",
	  NULL },
	{ "homes", aj_cmd_homes, 0, "homes list [--json] | remove NAME... | --all",
	  "the homes that are kept for policies and workspaces", NULL },
	{ "audit", aj_cmd_audit, 0, "audit verify FILE [--head HASH]", "check that an audit file is complete and unchanged",
	  NULL },
	{ 0 },
};
