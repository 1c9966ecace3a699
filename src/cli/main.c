/* The program: finds the command by name and runs it.
 * It holds no logic of its own; each command has its file. */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

#ifndef AJ_VERSION
#define AJ_VERSION "0.1.0"
#endif

const struct aj_command aj_commands[] = {
	{ "exec", aj_cmd_exec, "exec [options] [FILE | -c CODE | -]", "run one Python snippet in a jail and print its result" },
	{ "run", aj_cmd_run, "run [options] -- COMMAND [ARGUMENT...]", "run a program of this host in a jail" },
	{ "doctor", aj_cmd_doctor, "doctor", "list what this host can enforce and how to get what is missing" },
	{ "rootfs", aj_cmd_rootfs, "rootfs verify|path [DIR]", "check the Python tree against its manifest, or say where it is" },
	{ NULL, NULL, NULL, NULL },
};

static void usage(FILE *out)
{
	fprintf(out, "agentjail runs what an AI agent wrote, or wants to run, so that it can harm nothing.\n\nUsage:\n");
	for (const struct aj_command *c = aj_commands; c->name; c++)
		fprintf(out, "  agentjail %-42s %s\n", c->synopsis, c->help);
	fprintf(out, "  agentjail %-42s %s\n", "COMMAND --help | --version", "options of a command; the version");
}

int aj_print_error(const struct aj_error *err)
{
	char text[600];
	fprintf(stderr, "agentjail: %s\n", aj_error_text(err, text, sizeof text));
	if (err->fix[0])
		fprintf(stderr, "  fix: %s\n", err->fix);
	return err->exit_code;
}

/* A missing 0, 1 or 2 would be taken by the next open() and then be handed to the guest as something else. */
static void fill_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
			_exit(AJ_EXIT_SETUP);
}

int main(int argc, char **argv)
{
	fill_stdio();
	if (argc > 1)
		for (const struct aj_command *c = aj_commands; c->name; c++)
			if (strcmp(argv[1], c->name) == 0)
				return c->run(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		puts("agentjail " AJ_VERSION);
		return 0;
	}
	bool asked = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0);
	if (argc > 1 && !asked)
		fprintf(stderr, "agentjail: unknown command `%s`\n", argv[1]);
	usage(asked ? stdout : stderr);
	return asked ? 0 : AJ_EXIT_USAGE;
}
