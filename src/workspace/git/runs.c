/* The variables of a configuration that make git run a program: a table after git-config(1), gitattributes(5) and
 * git-lfs-config(5). It prefers false positives: a listed variable may be harmless, and other programs than git may have
 * variables of their own. */
#include <string.h>

#include "workspace/git/config.h"

enum when {
	ALWAYS,
	NOT_BOOLEAN, /* `true` selects git's built-in */
	SHELL,       /* a value that begins with `!` is a shell command */
	HELPER,      /* an address that names a program: `ext::...`, `other::...` */
};

static const struct {
	const char *section, *key; /* key NULL: every key */
	enum when when;
} table[] = {
	{ "core", "fsmonitor", NOT_BOOLEAN },
	{ "core", "hookspath", ALWAYS },
	{ "core", "sshcommand", ALWAYS },
	{ "core", "pager", ALWAYS },
	{ "core", "editor", ALWAYS },
	{ "core", "askpass", ALWAYS },
	{ "core", "gitproxy", ALWAYS },
	{ "core", "alternaterefscommand", ALWAYS },
	{ "core", "virtualfilesystem", ALWAYS },
	{ "core", "worktree", ALWAYS }, /* runs nothing, but makes git work on another folder */
	{ "sequence", "editor", ALWAYS },
	{ "pager", NULL, NOT_BOOLEAN },
	{ "alias", NULL, SHELL },
	{ "hook", "command", ALWAYS },
	{ "filter", "clean", ALWAYS },
	{ "filter", "smudge", ALWAYS },
	{ "filter", "process", ALWAYS },
	{ "diff", "external", ALWAYS },
	{ "diff", "command", ALWAYS },
	{ "diff", "textconv", ALWAYS },
	{ "merge", "driver", ALWAYS },
	{ "mergetool", "cmd", ALWAYS },
	{ "mergetool", "path", ALWAYS },
	{ "difftool", "cmd", ALWAYS },
	{ "difftool", "path", ALWAYS },
	{ "guitool", "cmd", ALWAYS },
	{ "man", "cmd", ALWAYS },
	{ "man", "path", ALWAYS },
	{ "browser", "cmd", ALWAYS },
	{ "browser", "path", ALWAYS },
	{ "instaweb", "browser", ALWAYS },
	{ "instaweb", "httpd", ALWAYS },
	{ "instaweb", "modulepath", ALWAYS },
	{ "interactive", "difffilter", ALWAYS },
	{ "credential", "helper", ALWAYS },
	{ "gpg", "program", ALWAYS },
	{ "gpg", "defaultkeycommand", ALWAYS },
	{ "trailer", "command", ALWAYS },
	{ "trailer", "cmd", ALWAYS },
	{ "tar", "command", ALWAYS },
	{ "sendemail", "tocmd", ALWAYS },
	{ "sendemail", "cccmd", ALWAYS },
	{ "sendemail", "headercmd", ALWAYS },
	{ "sendemail", "sendmailcmd", ALWAYS },
	{ "sendemail", "smtpserver", ALWAYS },
	{ "imap", "tunnel", ALWAYS },
	{ "uploadpack", "packobjectshook", ALWAYS },
	{ "gc", "recentobjectshook", ALWAYS },
	{ "remote", "uploadpack", ALWAYS },
	{ "remote", "receivepack", ALWAYS },
	{ "remote", "vcs", ALWAYS },
	{ "remote", "url", HELPER },
	{ "remote", "pushurl", HELPER },
	{ "url", "insteadof", ALWAYS },
	{ "url", "pushinsteadof", ALWAYS },
	{ "protocol", "allow", ALWAYS },
	{ "submodule", "update", SHELL },
	{ "submodule", "url", HELPER },
	{ "init", "templatedir", ALWAYS }, /* hooks of the next clone */
	{ "include", "path", ALWAYS },
	{ "includeif", "path", ALWAYS },
	{ "lfs", "path", ALWAYS },
	{ "lfs", "clean", ALWAYS },
	{ "lfs", "smudge", ALWAYS },
	{ "lfs", "standalonetransferagent", ALWAYS },
};

static bool is_boolean(const char *value)
{
	static const char *const words[] = { "true", "false", "yes", "no", "on", "off", "1", "0", "" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

static bool applies(enum when when, const char *value)
{
	switch (when) {
	case NOT_BOOLEAN:
		return !is_boolean(value);
	case SHELL:
		return value[0] == '!';
	case HELPER:
		return strstr(value, "::");
	case ALWAYS:
		break;
	}
	return true;
}

bool aj_gitconfig_runs(const struct aj_gitconfig *v)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(table[i].section, v->section) == 0 && (!table[i].key || strcmp(table[i].key, v->key) == 0) &&
		    applies(table[i].when, v->value))
			return true;
	return false;
}
