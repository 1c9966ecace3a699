/* Finds what a failed command lacks in its jail: a program or script of the host, or a network to download it.
 * It only gives advice, and shows nothing to the jail by itself. */
#include "cli/host_program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/program.h"
#include "base/text.h"
#include "policy/host/home.h"
#include "policy/plan/is_allowed.h"
#include "policy/toolchain_table.h"
#include "workspace/home/toolchains.h"

/* The program's own path on the host, by our PATH; NULL: the host has none either. */
static const char *find_on_host(const char *program, struct aj_arena *arena)
{
	char file[PATH_MAX], real[PATH_MAX];
	return aj_program_find(program, file, sizeof file) && realpath(file, real) ? aj_strdup(arena, real) : NULL;
}

/* Whether `--toolchain auto` would show the program and the target of its links. */
static bool in_toolchain(const char *program, const char *real, struct aj_arena *arena)
{
	struct aj_policy policy = { 0 };
	struct aj_request found = { 0 };
	struct aj_error err = { 0 };
	char file[PATH_MAX];
	bool named = false, led = aj_path_within(real, "/usr");
	*AJ_PUSH(arena, &policy.toolchains) = AJ_TOOLCHAINS_AUTO;
	if (!aj_program_find(program, file, sizeof file) || aj_toolchains_find(&found, &policy, arena, &err) < 0)
		return false;
	for (size_t i = 0; i < found.tools.count; i++) {
		named |= aj_path_within(file, found.tools.items[i].target);
		led |= aj_path_within(real, found.tools.items[i].target) || aj_path_within(real, found.tools.items[i].source);
	}
	return named && led;
}

/* The folder to bind for a file: the parent of a `bin`, as the program may need it, but never a home or a parent of one. */
static const char *folder_to_bind(const char *file, struct aj_arena *arena)
{
	const char *folder = aj_path_folder(file, arena), *above = aj_path_folder(folder, arena),
		   *home = aj_home_of_caller(arena);
	const char *name = strrchr(folder, '/');
	if (!name || strcmp(name, "/bin") != 0 || strcmp(above, "/") == 0 || strchr(above + 1, '/') == NULL ||
	    (home && aj_path_within(home, above)))
		return folder;
	return above;
}

/* The resolved interpreter of a script's first line; NULL: not a script, or the jail has the interpreter. */
static const char *interpreter_of(const char *file, struct aj_arena *arena)
{
	char line[256], real[PATH_MAX];
	cleanup_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
	if (n < 3 || memcmp(line, "#!", 2) != 0)
		return NULL;
	line[n] = '\0';
	char *path = line + 2 + strspn(line + 2, " \t");
	path[strcspn(path, " \t\r\n")] = '\0';
	return *path == '/' && realpath(path, real) && !aj_path_within(real, "/usr") ? aj_strdup(arena, real) : NULL;
}

/* A program of a virtual environment must be run by its own path: the target of the link has other modules. */
static bool advise_environment(struct aj_error *err, const char *program, const char *real, struct aj_arena *arena)
{
	char file[PATH_MAX], cwd[PATH_MAX];
	struct stat st;
	if (!aj_program_find(program, file, sizeof file) || !getcwd(cwd, sizeof cwd))
		return false;
	const char *path = aj_path_simplify(file[0] == '/' ? file : aj_printf(arena, "%s/%s", cwd, file), arena);
	const char *environment = aj_path_folder(aj_path_folder(path, arena), arena);
	if (stat(aj_printf(arena, "%s/pyvenv.cfg", environment), &st) < 0)
		return false;
	const char *by_policy = !strcmp(cwd, "/") || !aj_path_below(environment, cwd)
	                          ? ""
	                          : "--policy python-dev shows the current folder with it; or ";
	aj_advise(err, "`%s` is in the virtual environment `%s`, which the jail does not show: %s--bind '%s'%s -- '%s'", program,
	          environment, by_policy, environment, aj_path_within(real, "/usr") ? "" : " --toolchain auto", path);
	return true;
}

/* Programs that fetch what they run or install, by their name and first argument (NULL: any). */
static const struct runner {
	const char *program, *words, *package, *policy, *options;
} runners[] = {
#define NPM "node-dev", "--allow-host registry.npmjs.org"
#define PYPI "python-dev", "--allow-host pypi.org --allow-host files.pythonhosted.org"
	{ "npx", NULL, "Node.js with npm", NPM },
	{ "bunx", NULL, "Bun", NPM },
	{ "npm", "exec x install i ci add create init", "Node.js with npm", NPM },
	{ "pnpm", "dlx install i add create", "pnpm (`npm install -g pnpm`)", NPM },
	{ "uvx", NULL, "uv (`pipx install uv`)", PYPI },
	{ "uv", "tool pip add sync", "uv (`pipx install uv`)", PYPI },
	{ "pipx", "run install", "pipx", PYPI },
	{ "pip", "install download", "Python's pip", PYPI },
	{ "pip3", "install download", "Python's pip", PYPI },
	{ "cargo", "install fetch add", "Rust (`rustup`)", "rust-dev",
	  "--allow-host index.crates.io --allow-host static.crates.io" },
};

static const char *name_of(const char *program)
{
	const char *slash = strrchr(program, '/');
	return slash ? slash + 1 : program;
}

/* Neither side has the program. */
static void advise_install(struct aj_error *err, const char *program)
{
	const struct runner *runner = NULL;
	for (size_t i = 0; i < sizeof runners / sizeof *runners && !runner; i++)
		runner = strcmp(program, runners[i].program) == 0 ? &runners[i] : NULL;
	if (runner)
		aj_advise(err,
		          "the host has no `%s` either: install %s there; outside of /usr --toolchain auto or --policy %s shows it",
		          program, runner->package, runner->policy);
	else if (!strchr(program, '/'))
		aj_advise(err, "no folder of the host's PATH has `%s` either: check the name, or install it on the host",
		          program);
}

void aj_host_program_advise(struct aj_error *err, const char *program, struct aj_arena *arena)
{
	if (err->exit_code != AJ_EXIT_NOT_FOUND || err->fix[0])
		return;
	const char *file = find_on_host(program, arena);
	if (!file) {
		advise_install(err, program);
		return;
	}
	if (advise_environment(err, program, file, arena))
		return;
	if (in_toolchain(program, file, arena)) {
		aj_advise(err, "the host has it at `%s`: --toolchain auto shows it, and the toolchains on PATH with it", file);
		return;
	}
	const char *folder = folder_to_bind(file, arena), *interpreter = interpreter_of(file, arena), *more = "";
	if (interpreter && !aj_path_within(interpreter, folder))
		more = aj_printf(arena, " --bind '%s'", folder_to_bind(interpreter, arena));
	if (aj_path_within(file, "/usr"))
		aj_advise(err, "the jail has it at `%s`, which is not on its PATH: name it by that path", file);
	else if (strcmp(folder, "/") != 0)
		aj_advise(err, "the host has it at `%s`, which the jail does not show: --bind '%s'%s -- '%s'", file, folder, more,
		          file);
}

/* The first operand; NULL: none, or the code is an argument or standard input. */
static const char *script_of(char *const argv[])
{
	/* Prefixes: python3.11 is python. */
	static const char *const interpreters[] = { "node", "python", "bash", "sh",   "dash", "zsh",
		                                    "perl", "ruby",   "php",  "java", "lua",  NULL };
	static const char *const code[] = { "-c", "-m", "-e", "-p", "-r", "--eval", "--print", "-", NULL };
	bool known = false;
	for (size_t i = 0; interpreters[i]; i++) {
		size_t bytes = strlen(interpreters[i]);
		const char *name = name_of(argv[0]);
		known |= strncmp(name, interpreters[i], bytes) == 0 &&
		         strspn(name + bytes, "0123456789.") == strlen(name + bytes);
	}
	for (size_t i = 1; known && argv[i]; i++) {
		if (argv[i][0] != '-')
			return argv[i];
		for (size_t j = 0; code[j]; j++)
			if (strcmp(argv[i], code[j]) == 0)
				return NULL;
	}
	return NULL;
}

const char *aj_host_script_not_shown(const struct aj_plan *plan, char *const argv[], struct aj_arena *arena)
{
	const char *script = script_of(argv);
	char file[PATH_MAX];
	struct stat st;
	if (!script || !realpath(script, file) || stat(file, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	const char *inside = script[0] == '/' ? aj_path_simplify(script, arena)
	                                      : aj_path_simplify(aj_printf(arena, "%s/%s", plan->chdir, script), arena);
	const char *folder = aj_path_folder(file, arena);
	if (aj_plan_match_path(plan, inside).kind == AJ_MATCH_HOST || strcmp(folder, "/") == 0)
		return NULL;
	return aj_printf(arena, "the host has `%s`, which the jail does not show: --bind '%s' -- %s '%s'", file, folder, argv[0],
	                 file);
}

const char *aj_host_runner_offline(const struct aj_policy *policy, char *const argv[], struct aj_arena *arena)
{
	for (size_t i = 0; policy->network < AJ_NET_ALLOW && i < sizeof runners / sizeof *runners; i++) {
		const struct runner *r = &runners[i];
		if (strcmp(name_of(argv[0]), r->program) == 0 && (!r->words || (argv[1] && aj_has_word(r->words, argv[1]))))
			return aj_printf(arena,
			                 "`%s` downloads what is not installed, and policy `%s` has no network: use --policy %s, or %s with %s",
			                 r->program, policy->name, r->policy, policy->name, r->options);
	}
	return NULL;
}
