/* `agentjail run`: runs a program of this host in a jail and passes its exit status on.
 * It inspects no program and has no Python layer; the kernel's walls are the only ones. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/refuse.h"
#include "cli/run_jail.h"
#include "cli/surroundings.h"
#include "cli/terminal/help.h"
#include "cli/terminal/terminal.h"
#include "jail/jail.h"

int aj_cmd_run(int argc, char **argv)
{
	struct aj_arena arena = { 0 };
	struct aj_error err = { 0 };
	struct aj_options o = { .arena = &arena };
	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		printf("Usage: agentjail run [options] -- COMMAND [ARGUMENT...]\n\n"
		       "Runs COMMAND with the host's /usr read-only, a private /tmp, no network and no\n"
		       "other file of the host. The exit status is the command's; 128 + N if signal N\n"
		       "ended the command.\n\n"
		       "SIGTERM, SIGINT and SIGQUIT are passed on to COMMAND. If it has not ended %d\n"
		       "seconds later, or at a second signal, every process of the jail is\n"
		       "killed. SIGHUP, SIGUSR1 and SIGUSR2 are only passed on.\n",
		       AJ_COMMAND_GRACE_S);
		aj_options_help(AJ_FOR_RUN, stdout);
		aj_help_heading(stdout, "Examples");
		fputs("  agentjail run -- sh -c 'id; ls /'\n"
		      "  agentjail run --policy python-dev --workspace . -- python3 main.py\n"
		      "  agentjail run --allow-host pypi.org:443 --timeout 5m -- curl https://pypi.org\n",
		      stdout);
		return 0;
	}
	int first = aj_options_parse(&o, AJ_FOR_RUN, argc, argv, &err);
	if (first >= 0 && aj_terminal_choose(&o.request, &arena, &err) < 0)
		first = -1;
	int code;
	if (first >= 0 && first == argc) {
		aj_fail(&err, AJ_EXIT_USAGE, "options", 0, "no command");
		aj_advise(&err, "try: agentjail run -- sh -c 'id; ls /'");
		first = -1;
	}
	if (first >= 0 && o.mcp && o.json)
		first = aj_fail(&err, AJ_EXIT_USAGE, "options", 0,
		                "--json prints one result at the end, and --mcp leaves standard output to the server");
	bool loaded = first >= 0 && aj_options_load(&o, AJ_FOR_RUN, &err) == 0;
	if (loaded)
		aj_surroundings_take(&o);
	if (!loaded || aj_options_check_workspace(&o, AJ_FOR_RUN, &err) < 0) {
		code = aj_refuse_setup(&o, &err);
	} else {
		o.request.command.argv = argv + first;
		code = aj_run_command(&o);
	}
	aj_arena_free(&arena);
	return code;
}
