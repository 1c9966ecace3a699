/* Follows the host's git configuration to the files of a workspace that it names. It reads configuration and the names of hooks,
 * as git does through links, and runs nothing. It does not interpret commands: a word of a command that is a file in the
 * workspace counts as a place, whatever the command does with it. */
#include "workspace/git/named.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/path.h"
#include "workspace/git/config.h"

enum { FILES_MAX = 16000, PLACES_MAX = 16000, HOOKS_MAX = 1000, INCLUDES_DEPTH = 10, FILE_BYTES = 1 << 20 };

/* One file of a configuration. */
struct name_reading {
	struct aj_git_named *n;
	const char *folder; /* of the file */
	const char *top;    /* of the repository */
	unsigned depth;     /* of includes */
};

static void add_once(struct aj_git_named *n, const char *path, bool anywhere)
{
	for (size_t i = 0; i < (anywhere ? n->anywhere.count : n->places.count); i++)
		if (strcmp(anywhere ? n->anywhere.items[i] : n->places.items[i], path) == 0)
			return;
	if (n->places.count + n->anywhere.count >= PLACES_MAX) {
		n->cut = true;
		return;
	}
	if (anywhere)
		*AJ_PUSH(n->arena, &n->anywhere) = path;
	else
		*AJ_PUSH(n->arena, &n->places) = path;
}

static void add_in_workspace(struct aj_git_named *n, const char *path)
{
	const char *rest = aj_path_rest(path, n->workspace);
	if (rest && rest[0] == '/' && rest[1])
		add_once(n, aj_strdup(n->arena, rest + 1), false);
	n->all |= rest && !rest[0];
}

void aj_git_named_place(struct aj_git_named *n, const char *path)
{
	char real[PATH_MAX];
	add_in_workspace(n, aj_path_simplify(path, n->arena));
	if (realpath(path, real))
		add_in_workspace(n, real);
}

/* As git expands a path; NULL: to a place of another user, or of git's own installation. */
static const char *expand(const struct name_reading *r, const char *base, const char *value)
{
	const char *home = secure_getenv("HOME");
	if (strncmp(value, "~/", 2) == 0)
		return home && home[0] == '/' ? aj_printf(r->n->arena, "%s%s", home, value + 1) : NULL;
	if (value[0] == '~' || value[0] == '%' || !*value)
		return NULL;
	return value[0] == '/' ? aj_strdup(r->n->arena, value) : aj_printf(r->n->arena, "%s/%s", base, value);
}

/* Such a home may be in the workspace, or be the workspace. */
static bool in_other_home(const char *value)
{
	return value[0] == '~' && value[1] != '/';
}

/* --- hooks --- */

/* The folder, and the files that links in it lead to. */
static void add_hooks(struct aj_git_named *n, const char *folder)
{
	cleanup_listing struct aj_listing entries = aj_listing_open(folder);
	size_t left = HOOKS_MAX;
	aj_git_named_place(n, folder);
	for (const struct dirent *e; left && (e = aj_listing_next(&entries)); left--)
		if (e->d_type == DT_LNK || e->d_type == DT_UNKNOWN)
			aj_git_named_place(n, aj_printf(n->arena, "%s/%s", folder, e->d_name));
	n->cut |= !left || (entries.dir && entries.error);
}

/* A relative value counts from the top of each repository: what is below all `..` is a place in whichever folder. */
static void add_hooks_path(const struct name_reading *r, const char *value)
{
	const char *path = expand(r, r->top, value);
	if (strlen(value) + 1 >= AJ_GITCONFIG_VALUE_BYTES) /* it was cut */
		r->n->all = true;
	if (path)
		add_hooks(r->n, path);
	if (!path || value[0] == '/' || value[0] == '~')
		return;
	const char *plain = aj_path_simplify(aj_printf(r->n->arena, "/%s", value), r->n->arena) + 1;
	if (*plain)
		add_once(r->n, plain, true);
}

/* --- configuration --- */

static void add_file(const struct name_reading *r, const char *name)
{
	struct stat st;
	const char *path = expand(r, r->top, name);
	if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode))
		aj_git_named_place(r->n, path);
}

/* `-F./x` is an option with its file. A variable or a command substitution may stand for the top of the repository. */
static void add_word(const struct name_reading *r, const char *word)
{
	if (word[0] == '-')
		word += word[1] && word[1] != '-' ? 2 : 1;
	add_file(r, word);
	add_file(r, word + strspn(word, "/"));
	if (word[0] != '$')
		return;
	const char *name = word + 1 + (word[1] == '{'), *rest = name;
	while (*rest == '_' || (*rest >= '0' && *rest <= '9') || ((*rest | 0x20) >= 'a' && (*rest | 0x20) <= 'z'))
		rest++;
	const char *value = secure_getenv(aj_strndup(r->n->arena, name, (size_t)(rest - name)));
	if (word[1] == '{')
		rest += strcspn(rest, "}") + (strchr(rest, '}') != NULL);
	if (value)
		add_file(r, aj_printf(r->n->arena, "%s%s", value, rest));
	add_file(r, rest + strspn(rest, "/"));
}

static const char between[] = " \t\n'\"`;|&()<>=!";

/* Split into words as a shell does, with quotes and backslashes. */
static void add_quoted_words(const struct name_reading *r, const char *value)
{
	char word[AJ_GITCONFIG_VALUE_BYTES], quote = '\0';
	size_t used = 0;
	for (const char *at = value;; at++) {
		if (*at && quote ? *at == quote : *at == '\'' || *at == '"') {
			quote = (char)(quote ? '\0' : *at);
		} else if (!*at || (!quote && strchr(between, *at))) {
			word[used] = '\0';
			add_word(r, word);
			used = 0;
		} else {
			at += *at == '\\' && quote != '\'' && at[1];
			word[used++] = *at;
		}
		if (!*at)
			return;
	}
}

static void add_words(const struct name_reading *r, const char *value)
{
	r->n->cut |= strlen(value) + 1 >= AJ_GITCONFIG_VALUE_BYTES;
	add_word(r, value); /* the whole value may be a path with blanks */
	add_quoted_words(r, value);
	for (const char *at = value + strspn(value, between); *at; at += strspn(at, between)) {
		size_t bytes = strcspn(at, between);
		add_word(r, aj_strndup(r->n->arena, at, bytes));
		at += bytes;
	}
}

/* Files and folders that configure git's trust or attributes, without being run. */
static bool is_trusted_file(const struct aj_gitconfig *v)
{
	static const struct {
		const char *section, *key;
	} rows[] = {
		{ "core", "attributesfile" }, { "gpg", "allowedsignersfile" },
		{ "gpg", "revocationfile" },  { "http", "sslcainfo" },
		{ "http", "sslcapath" },      { "http", "proxysslcainfo" },
		{ "http", "sslcert" },        { "http", "sslkey" },
		{ "fsck", "skiplist" },       { "fetch", "skiplist" },
		{ "receive", "skiplist" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].section, v->section) == 0 && strcmp(rows[i].key, v->key) == 0)
			return true;
	return false;
}

/* Even if missing: git would read a new one. */
static void add_trusted_file(const struct name_reading *r, const char *value)
{
	const char *path = expand(r, r->top, value);
	r->n->cut |= in_other_home(value) || strlen(value) + 1 >= AJ_GITCONFIG_VALUE_BYTES;
	if (path)
		aj_git_named_place(r->n, path);
}

static void read_config(struct aj_git_named *n, const char *path, const char *top, unsigned depth);

static void on_variable(void *arg, const struct aj_gitconfig *v)
{
	const struct name_reading *r = arg;
	if (is_trusted_file(v))
		add_trusted_file(r, v->value);
	/* A person runs an alias by its name, and core.worktree is the folder that everything is in. */
	if (!aj_gitconfig_runs(v) || strcmp(v->section, "alias") == 0 || strcmp(v->key, "worktree") == 0)
		return;
	bool hooks = strcmp(v->key, "hookspath") == 0, include = strncmp(v->section, "include", 7) == 0;
	r->n->cut |= (hooks || include) && in_other_home(v->value);
	if (hooks) {
		add_hooks_path(r, v->value);
	} else if (include) {
		const char *path = expand(r, r->folder, v->value);
		if (path)
			read_config(r->n, path, r->top, r->depth + 1);
	} else if (strcmp(v->key, "templatedir") == 0) {
		add_trusted_file(r, v->value);
	} else {
		add_words(r, v->value);
	}
}

/* The text of a regular file in memory that the caller frees; NULL: there is none. */
static char *read_text(struct aj_git_named *n, const char *path, size_t *ret_bytes)
{
	struct stat st;
	cleanup_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	n->cut |= st.st_size > FILE_BYTES || n->files >= FILES_MAX;
	if (n->files++ >= FILES_MAX)
		return NULL;
	size_t room = st.st_size < FILE_BYTES ? (size_t)st.st_size : FILE_BYTES, bytes = 0;
	char *text = malloc(room + 1);
	if (!text)
		abort();
	for (ssize_t got; bytes < room && (got = read(fd, text + bytes, room - bytes)) > 0;)
		bytes += (size_t)got;
	text[bytes] = '\0';
	*ret_bytes = bytes;
	return text;
}

static void read_config(struct aj_git_named *n, const char *path, const char *top, unsigned depth)
{
	size_t bytes;
	aj_git_named_place(n, path);      /* also where it is missing: git would read a new one */
	n->cut |= depth > INCLUDES_DEPTH; /* git refuses that */
	char *text = depth <= INCLUDES_DEPTH ? read_text(n, path, &bytes) : NULL;
	if (!text)
		return;
	struct name_reading r = { .n = n, .folder = aj_path_folder(path, n->arena), .top = top, .depth = depth };
	aj_gitconfig_read(text, bytes, on_variable, &r);
	free(text);
}

/* The caller's, and the system's. */
static void read_common(struct aj_git_named *n, const char *top)
{
	static const char *const set[] = { "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL" };
	const char *home = secure_getenv("HOME"), *xdg = secure_getenv("XDG_CONFIG_HOME"), *path;
	read_config(n, "/etc/gitconfig", top, 0);
	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		if ((path = secure_getenv(set[i])) && path[0] == '/')
			read_config(n, path, top, 0);
	if (home && home[0] == '/')
		read_config(n, aj_printf(n->arena, "%s/.gitconfig", home), top, 0);
	if (xdg && xdg[0] == '/')
		read_config(n, aj_printf(n->arena, "%s/git/config", xdg), top, 0);
	else if (home && home[0] == '/')
		read_config(n, aj_printf(n->arena, "%s/.config/git/config", home), top, 0);
}

/* The first line of a file that names a folder, after `prefix`; NULL: there is none. */
static const char *read_folder(struct aj_git_named *n, const char *file, const char *prefix, const char *base)
{
	size_t bytes;
	char *text = read_text(n, file, &bytes);
	const char *path = NULL;
	if (text && strncmp(text, prefix, strlen(prefix)) == 0) {
		text[strcspn(text, "\r\n")] = '\0';
		const char *value = text + strlen(prefix);
		path = value[0] == '/' ? aj_strdup(n->arena, value) : aj_printf(n->arena, "%s/%s", base, value);
	}
	free(text);
	return path;
}

void aj_git_named_add(struct aj_git_named *n, const char *top, const char *entry)
{
	read_common(n, top);
	if (!entry)
		return;
	const char *git = aj_printf(n->arena, "%s/%s", top, entry), *elsewhere = read_folder(n, git, "gitdir: ", top);
	git = elsewhere ? elsewhere : git;
	const char *common = read_folder(n, aj_printf(n->arena, "%s/commondir", git), "", git);
	common = common ? common : git;
	read_config(n, aj_printf(n->arena, "%s/config.worktree", git), top, 0);
	read_config(n, aj_printf(n->arena, "%s/config", common), top, 0);
	add_hooks(n, aj_printf(n->arena, "%s/hooks", common));
}
