/* The program: finds a command by its name and runs it.
 * It holds no logic of its own; each command has its file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/inherited_limits.h"
#include "cli/options/options.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/guard.h"
#include "cli/terminal/help.h"

static void usage(FILE *out)
{
	fputs("Usage: agentjail COMMAND [options]\n\n"
	      "Runs code and commands of AI agents in a jail, where they cannot harm the host.\n",
	      out);
	for (const struct aj_subcommand *c = aj_commands; c->name; c++) {
		if (c->heading)
			aj_help_heading(out, c->heading);
		aj_help_row(out, c->name, c->help);
	}
	aj_help_heading(out, "Examples");
	fputs("  agentjail exec -c 'sum(range(10))'\n"
	      "  agentjail run -- sh -c 'id; ls /'\n"
	      "  agentjail run --policy python-dev --workspace . -- python3 main.py\n"
	      "  agentjail doctor\n\n"
	      "`agentjail COMMAND --help` lists a command's options; `agentjail --version`\nprints the version.\n",
	      out);
}

/* The next open() would reuse a missing descriptor 0, 1 or 2, and the guest would inherit that file; a folder would be a way out
 * of the jail's tree. Standard output is replaced by a file that cannot be written: what is printed there is lost, which is no
 * success. */
static int check_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		struct stat st;
		if (fstat(fd, &st) < 0 && (open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) != fd || fstat(fd, &st) < 0)) {
			fprintf(stderr, "agentjail: stdio: examine file descriptor %d, or replace it by /dev/null: %s\n", fd,
			        strerror(errno));
			return -1;
		}
		if (S_ISDIR(st.st_mode)) {
			fprintf(stderr, "agentjail: standard input, output or error is a folder, which no jail may have open\n");
			return -1;
		}
	}
	return 0;
}

static const char *command_at(size_t i, const void *arg)
{
	(void)arg;
	return aj_commands[i].name;
}

static int refuse_word(const char *word)
{
	struct aj_error err = { 0 };
	size_t count = 0;
	while (aj_commands[count].name)
		count++;
	const char *meant = aj_suggest(word, command_at, NULL, count);
	aj_fail(&err, AJ_EXIT_USAGE, "options", 0, word[0] == '-' ? "unknown option `%s`" : "unknown command `%s`", word);
	if (meant)
		aj_advise(&err, "did you mean `agentjail %s`? `agentjail --help` lists the commands", meant);
	else
		aj_advise(&err, "`agentjail --help` lists the commands; `agentjail run -- %s` runs a program",
		          word[0] == '-' ? "COMMAND" : word);
	return aj_print_error(&err);
}

/* Output that could not be written makes success an error. */
static int flush_and_exit_code(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	struct aj_error err = { 0 };
	aj_fail(&err, AJ_EXIT_SETUP, "output", errno, "write to standard output");
	return aj_print_error(&err);
}

int main(int argc, char **argv)
{
	if (check_stdio() < 0)
		return AJ_EXIT_USAGE;
	aj_guard_streams();
	/* An ignored SIGCHLD would stay ignored in the jail's init, where the kernel would then reap children by itself. */
	signal(SIGCHLD, SIG_DFL);
	struct aj_error err = { 0 };
	if (aj_caller_limits(&err) < 0)
		return aj_print_error(&err);
	if (argc > 1)
		for (const struct aj_subcommand *c = aj_commands; c->name; c++)
			if (strcmp(argv[1], c->name) == 0)
				return flush_and_exit_code(c->run(argc - 1, argv + 1));
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		puts("agentjail " AJ_BUILD_VERSION);
		return flush_and_exit_code(0);
	}
	bool help_wanted = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0);
	if (argc > 1 && !help_wanted)
		return refuse_word(argv[1]);
	usage(help_wanted ? stdout : stderr);
	return flush_and_exit_code(help_wanted ? 0 : AJ_EXIT_USAGE);
}
