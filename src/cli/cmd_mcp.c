/* `agentjail mcp`: starts the MCP server, which is a program of the Python package, in this process's place.
 * It reads no option and speaks no MCP; without the package it says how to install it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "cli/command.h"
#include "cli/terminal/findings.h"

#define SERVER "agentjail-mcp"
#define INSTALL "pip install 'libagentjail[mcp]'"

/* The server's path: beside this program, where a wheel installs both, or on PATH. The server is to use this very program. */
static bool find_server(char *path, size_t bytes)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n > 0) {
		self[n] = '\0';
		setenv("AGENTJAIL", self, 0);
		char *name = strrchr(self, '/') + 1;
		if ((size_t)(self + sizeof self - name) > sizeof SERVER) {
			strcpy(name, SERVER);
			if (aj_program_find(self, path, bytes))
				return true;
		}
	}
	return aj_program_find(SERVER, path, bytes);
}

/* The server has the list of its options. */
static int help_without_server(void)
{
	printf("Usage: agentjail mcp [--workspace DIR] [--http HOST:PORT] ...\n\n"
	       "An MCP server whose tools run Python, commands and file access in jails, on\n"
	       "standard input and output or by HTTP.\n\n"
	       "It is the program " SERVER " of the Python package, which is not installed\n"
	       "here: it is neither beside agentjail nor on PATH. To install it:\n\n"
	       "  " INSTALL "\n\n"
	       "`agentjail mcp --help` then lists its options; docs/guides/mcp.md explains them.\n");
	return 0;
}

int aj_cmd_mcp(int argc, char **argv)
{
	char path[PATH_MAX];
	struct aj_error err = { 0 };
	if (!find_server(path, sizeof path)) {
		if (argc > 1 && strcmp(argv[1], "--help") == 0)
			return help_without_server();
		aj_fail(&err, AJ_EXIT_NOT_FOUND, "mcp", 0, "the program " SERVER " is neither beside agentjail nor on PATH");
		aj_advise(&err, INSTALL);
		return aj_print_error(&err);
	}
	argv[0] = path;
	execv(path, argv);
	aj_fail(&err, AJ_EXIT_NOT_FOUND, "mcp", errno, "start `%s`", path);
	return aj_print_error(&err);
}
