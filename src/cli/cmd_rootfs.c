/* `agentjail rootfs verify|path`: checks the Python tree against its manifest, or prints its path.
 * It changes nothing and builds nothing; rootfs/build.sh does. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "cli/command.h"
#include "cli/manifest.h"
#include "cli/terminal/findings.h"
#include "policy/host/paths.h"

int aj_cmd_rootfs(int argc, char **argv)
{
	struct aj_arena arena = { 0 };
	struct aj_error err = { 0 };
	const char *rootfs = argc > 2 ? argv[2] : NULL;
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		printf("Usage: agentjail rootfs verify [DIR]\n       agentjail rootfs path [DIR]\n\n"
		       "verify: compare each file of the Python tree with its manifest; path: print the\n"
		       "folder of the tree that a snippet gets.\n\n"
		       "Exit status: 0; 125 where the tree is missing or differs.\n");
		return 0;
	}
	if (argc < 2 || argc > 3 || (strcmp(argv[1], "verify") != 0 && strcmp(argv[1], "path") != 0)) {
		aj_fail(&err, AJ_EXIT_USAGE, "options", 0, "no subcommand, or an unknown one");
		aj_advise(&err, "use `agentjail rootfs verify [DIR]` or `agentjail rootfs path`");
	} else if (aj_find_rootfs(&rootfs, "default", "", &arena, &err) == 0) {
		if (strcmp(argv[1], "path") == 0)
			puts(rootfs);
		else
			aj_manifest_verify(rootfs, "tree", &err);
	}
	aj_arena_free(&arena);
	return err.exit_code ? aj_print_error(&err) : 0;
}
