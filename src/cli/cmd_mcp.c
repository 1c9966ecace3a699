/* `agentjail mcp`: starts the MCP server, which is a program of the Python package, in this process's place.
 * It reads no option and speaks no MCP; without the package it says how to install it. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "cli/command.h"
#include "terminal/findings.h"

#define SERVER "agentjail-mcp"

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

int aj_cmd_mcp(int argc, char **argv)
{
	(void)argc;
	char path[PATH_MAX];
	struct aj_error err = { 0 };
	if (!find_server(path, sizeof path)) {
		aj_fail(&err, AJ_EXIT_NOT_FOUND, "mcp", 0, "the program " SERVER " is neither beside agentjail nor on PATH");
		aj_advise(&err, "pip install 'libagentjail[mcp]'");
		return aj_print_error(&err);
	}
	argv[0] = path;
	execv(path, argv);
	aj_fail(&err, AJ_EXIT_NOT_FOUND, "mcp", errno, "start `%s`", path);
	return aj_print_error(&err);
}
