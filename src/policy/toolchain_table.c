/* The table of toolchains: the layouts that installers make, each with the least of its folders that its programs need.
 * It holds no logic, and no folder in which installers keep passwords, tokens or a person's settings. */
#include "policy/toolchain_table.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
const struct aj_toolchain aj_toolchains[] = {
	/* ~/.cargo holds credentials.toml and the registry's cache; the jail has a CARGO_HOME of its own. */
	{ "rust", { "~/.cargo/bin", "$CARGO_HOME/bin" }, { { ".", NULL }, { "~/.rustup", "RUSTUP_HOME" } } },
	{ "go", { "$GOROOT/bin", "~/sdk/go*/bin", "~/.local/go/bin", "~/.go/bin" }, { { "^", NULL } } },
	{ "go", { "~/go/bin", "$GOPATH/bin", "$GOBIN", "/usr/local/go/bin" }, { { ".", NULL } } },
	{ "node", { "~/.nvm/versions/node/*/bin", "$NVM_DIR/versions/node/*/bin", "~/n/bin", "~/.npm-global/bin",
	            "~/.local/share/fnm/node-versions/*/installation/bin", "~/.npm-packages/bin" }, { { "^", NULL } } },
	{ "node", { "~/.volta/bin" }, { { ".", NULL }, { "~/.volta/tools", NULL } } },
	{ "node", { "~/.local/share/pnpm", "$PNPM_HOME", "~/.deno/bin" }, { { ".", NULL } } },
	{ "node", { "~/.bun/bin" }, { { ".", NULL }, { "~/.bun/install/global", NULL } } },
	{ "python", { "~/.pyenv/shims", "~/.pyenv/bin", "$PYENV_ROOT/shims", "$PYENV_ROOT/bin" },
	            { { "~/.pyenv", "PYENV_ROOT" } } },
	{ "python", { "~/miniconda3/bin", "~/miniconda3/envs/*/bin", "~/anaconda3/bin", "~/anaconda3/envs/*/bin",
	              "~/miniforge3/bin", "~/miniforge3/envs/*/bin" }, { { "^", NULL } } },
	/* uv keeps tokens in ~/.local/share/uv/credentials. */
	{ "uv", { "~/.local/bin", "~/.cargo/bin" },
	        { { "~/.local/share/uv/python", NULL }, { "~/.local/share/uv/tools", NULL } } },
	{ "local", { "~/.local/bin" },
	           { { ".", NULL }, { "~/.local/lib", NULL }, { "~/.local/share/pipx/venvs", NULL },
	             { "~/.local/pipx/venvs", NULL }, { "~/.local/share/claude/versions", NULL } } },
	{ "agents", { "~/.opencode/bin", "~/.claude/local" }, { { ".", NULL } } },
	{ "ruby", { "~/.rbenv/shims", "~/.rbenv/bin" }, { { "~/.rbenv", "RBENV_ROOT" } } },
	{ "java", { "~/.sdkman/candidates/*/current/bin" }, { { "~/.sdkman/candidates", NULL } } },
	{ "mise", { "~/.local/share/mise/shims", "~/.local/share/mise/installs/*/*/bin" },
	          { { "~/.local/share/mise/installs", NULL }, { "~/.local/share/mise/shims", NULL } } },
	{ "asdf", { "~/.asdf/shims", "~/.asdf/bin" }, { { "~/.asdf", "ASDF_DATA_DIR" } } },
	{ "brew", { "/home/linuxbrew/.linuxbrew/bin" }, { { "^", NULL } } },
	{ "opt", { "/opt/*/bin", "/opt/*/*/bin" }, { { "^", NULL } } },
	{ "opt", { "/opt/*" }, { { ".", NULL } } },
	{ NULL, { NULL }, { { NULL, NULL } } },
};
/* clang-format on */

/* clang-format off */
/* No pattern begins with `*`, which would be tried in every folder. */
const char *const aj_toolchain_prefixes[] = {
	"installs/*/*/", "installs/*/*/envs/*/", "installs/*/*/*/", /* asdf, mise */
	"versions/*/", "versions/*/envs/*/", "plugins/*/",          /* pyenv, rbenv */
	"envs/*/",                                                  /* conda */
	"python/*/", "tools/*/", "venvs/*/",                        /* uv, pipx */
	"tools/image/*/*/", "tools/image/packages/*/*/",            /* volta */
	"nodejs/*/", "global/*/",                                   /* pnpm */
	"n/versions/node/*/",                                       /* n */
	"candidates/*/*/",                                          /* sdkman */
	"toolchains/*/",                                            /* rustup */
	"Cellar/python@*/*/", "Cellar/node*/*/",                    /* brew */
	NULL,
};

const char *const aj_toolchain_secrets[] = {
	/* npm, yarn, bun: an installation's own npmrc files */
	".npmrc", "npmrc", "etc/npmrc", "lib/node_modules/npm/npmrc", "lib/node_modules/npm/.npmrc",
	"node_modules/npm/npmrc", "node_modules/npm/.npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml", ".bunfig.toml",
	/* pip, distutils, uv, pipx: indexes are named with their passwords; the last two are the notes of `uv tool` and pipx */
	"pip.conf", "etc/pip.conf", "etc/xdg/pip/", ".pypirc", "lib/python*/distutils/distutils.cfg",
	"uv.toml", "etc/uv/", "uv-receipt.toml", "pipx_metadata.json",
	/* conda: channels are named with tokens; `state` is what `conda env config vars` sets */
	".condarc", "condarc", "condarc.d/", ".mambarc", "conda-meta/state", "pkgs/urls.txt", "pkgs/cache/",
	/* cargo where an installation is its CARGO_HOME, gems, Gradle */
	"credentials.toml", "credentials", "etc/gemrc", ".gemrc", ".gem/credentials", ".bundle/config", "gradle.properties",
	/* brew: the services' passwords and data */
	"etc/my.cnf", "etc/redis.conf", "var/postgresql*/", "var/mysql/", "var/db/", "var/mongodb/",
	/* any program */
	".netrc", "_netrc", ".git-credentials", ".git/config", "etc/gitconfig", ".env",
	NULL,
};
/* clang-format on */

const char *aj_toolchain_program(const char *name)
{
	static const char *const programs[][2] = { { "rust", "rustc" },     { "go", "go" },     { "node", "node" },
		                                   { "python", "python3" }, { "uv", "uv" },     { "ruby", "ruby" },
		                                   { "java", "java" },      { "mise", "mise" }, { "asdf", "asdf" },
		                                   { "brew", "brew" } };
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (strcmp(programs[i][0], name) == 0)
			return programs[i][1];
	return NULL;
}

bool aj_toolchain_word_valid(const char *word)
{
	if (strcmp(word, AJ_TOOLCHAINS_AUTO) == 0 || strcmp(word, AJ_TOOLCHAINS_NONE) == 0)
		return true;
	for (const struct aj_toolchain *t = aj_toolchains; t->name; t++)
		if (strcmp(word, t->name) == 0)
			return true;
	return false;
}
