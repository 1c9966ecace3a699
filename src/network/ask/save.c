/* Adds hosts that were allowed for a run to the list of a policy file, and changes nothing else of it: the new file is written
 * beside the old one and renamed over it. Symlinks, and files in places where the jail may write, are refused. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "network/ask/ask.h"

enum { FILE_BYTES = 1 << 20, ITEM_BYTES = 300 };

struct aj_ask_save {
	int folder;
	const char *path, *extends;
	char name[NAME_MAX + 1]; /* in the folder */
};

/* --- the text --- */

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* Behind the `[` of a line `KEY = [`; NULL: it is another line. */
static const char *list_of(const char *line, const char *key)
{
	size_t bytes = strlen(key);
	line = skip_blanks(line);
	if (strncmp(line, key, bytes) != 0)
		return NULL;
	line = skip_blanks(line + bytes);
	if (*line != '=')
		return NULL;
	line = skip_blanks(line + 1);
	return *line == '[' ? line + 1 : NULL;
}

/* A list of hosts begins in the section [network], or before all sections with the section in its key. */
static const char *find_list(const char *text)
{
	bool top = true, inside = false;
	for (const char *line = text, *next; line; line = next ? next + 1 : NULL) {
		const char *start = skip_blanks(line), *found = NULL;
		next = strchr(line, '\n');
		if (*start == '[') {
			top = false;
			inside = strncmp(start, "[network]", 9) == 0;
		}
		if (inside && !(found = list_of(line, "allow")))
			found = list_of(line, "extend_allow");
		if (top && !(found = list_of(line, "network.allow")))
			found = list_of(line, "network.extend_allow");
		if (found)
			return found;
	}
	return NULL;
}

char *aj_ask_save_insert(const char *text, const char *name, uint16_t port)
{
	char item[ITEM_BYTES];
	const char *at = find_list(text);
	if (!at)
		return NULL;
	snprintf(item, sizeof item, "\"%s:%u\"", name, port);
	if (strstr(text, item))
		return strdup(text);
	/* Before the first item, on a line of its own where the first item has one. */
	const char *rest = skip_blanks(at), *line_end = strchr(at, '\n');
	bool own_line = line_end && (rest == line_end || *rest == '#');
	size_t room = strlen(text) + sizeof item + 8, before = (size_t)((own_line ? line_end + 1 : at) - text);
	char *out = malloc(room);
	if (out)
		snprintf(out, room, own_line ? "%.*s  %s,\n%s" : "%.*s%s, %s", (int)before, text, item, text + before);
	return out;
}

/* --- the file --- */

static char *read_file(const struct aj_ask_save *save, mode_t *ret_mode, struct aj_error *err)
{
	struct stat st = { .st_mode = 0600 };
	cleanup_fd int fd = openat(save->folder, save->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char *text = calloc(1, FILE_BYTES + 1);
	size_t bytes = 0;
	ssize_t n = 0;
	if (!text || (fd < 0 && errno != ENOENT) || (fd >= 0 && fstat(fd, &st) < 0)) {
		aj_fail(err, AJ_EXIT_USAGE, "ask", errno, "read `%s` (--network-ask-save)", save->path);
		free(text);
		return NULL;
	}
	*ret_mode = st.st_mode & 0777;
	if (fd < 0) {
		snprintf(text, FILE_BYTES,
		         "# Hosts that were allowed when agentjail asked (--network-ask-save).\n"
		         "extends = %s\n\n[network]\nmode = \"allow\"\nextend_allow = [\n]\n",
		         save->extends);
		return text;
	}
	while (S_ISREG(st.st_mode) && bytes < FILE_BYTES && (n = read(fd, text + bytes, FILE_BYTES - bytes)) > 0)
		bytes += (size_t)n;
	if (!S_ISREG(st.st_mode) || n < 0 || bytes == FILE_BYTES || strlen(text) != bytes) {
		aj_fail(err, AJ_EXIT_USAGE, "ask", 0, "`%s` (--network-ask-save) is not a policy file", save->path);
		free(text);
		return NULL;
	}
	return text;
}

static int write_file(const struct aj_ask_save *save, const char *text, mode_t mode, struct aj_error *err)
{
	char fresh[64];
	snprintf(fresh, sizeof fresh, ".agentjail-ask-%d", getpid());
	unlinkat(save->folder, fresh, 0);
	cleanup_fd int fd = openat(save->folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && aj_write_all(fd, text, strlen(text)) == 0 && fchmod(fd, mode) == 0 && fsync(fd) == 0 &&
	    renameat(save->folder, fresh, save->folder, save->name) == 0)
		return 0;
	aj_fail(err, AJ_EXIT_SETUP, "ask", errno, "write `%s`", save->path);
	if (fd >= 0)
		unlinkat(save->folder, fresh, 0);
	return -1;
}

int aj_ask_save_add(struct aj_ask_save *save, const char *name, uint16_t port, struct aj_error *err)
{
	mode_t mode;
	/* Does not wait: another run may be adding to the file, or a jail that may read the folder holds the lock. */
	if (flock(save->folder, LOCK_EX | LOCK_NB) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "ask", errno, "lock the folder of `%s`", save->path);
	char *text = read_file(save, &mode, err), *more = text ? aj_ask_save_insert(text, name, port) : NULL;
	int r = -1;
	if (more)
		r = strcmp(more, text) == 0 ? 0 : write_file(save, more, mode, err);
	else if (text)
		aj_fail(err, AJ_EXIT_SETUP, "ask", 0, "`%s` has no list of hosts any more", save->path);
	flock(save->folder, LOCK_UN);
	free(text);
	free(more);
	return r;
}

/* May the jail write the file by its path, by another name of its inode that is bound, or by a folder around it? */
static bool jail_may_write(const struct aj_plan *plan, const struct aj_ask_save *save)
{
	char folder[PATH_MAX], path[PATH_MAX + sizeof save->name + 1], source[PATH_MAX];
	struct stat ours, theirs;
	if (!aj_fd_path(save->folder, folder, sizeof folder))
		return true;
	snprintf(path, sizeof path, "%s/%s", folder, save->name);
	bool exists = fstatat(save->folder, save->name, &ours, AT_SYMLINK_NOFOLLOW) == 0;
	for (size_t i = 0; i < plan->mounts.count; i++)
		if (aj_mount_is_shared(&plan->mounts.items[i]) && realpath(plan->mounts.items[i].source, source) &&
		    (aj_path_within(path, source) ||
		     (exists && stat(source, &theirs) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino)))
			return true;
	return false;
}

struct aj_ask_save *aj_ask_save_open(const struct aj_ask_whom *whom, const struct aj_plan *plan, struct aj_error *err)
{
	struct aj_ask_save *save = calloc(1, sizeof *save);
	struct aj_arena arena = { 0 };
	mode_t mode;
	const char *slash = strrchr(whom->save, '/'), *name = slash ? slash + 1 : whom->save;
	if (!save)
		return NULL;
	*save = (struct aj_ask_save){ .folder = -1, .path = whom->save, .extends = whom->extends };
	if (aj_path_part_valid(name, strlen(name)) && strlen(name) <= NAME_MAX) {
		strcpy(save->name, name);
		save->folder = open(aj_path_folder(whom->save, &arena), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	aj_arena_free(&arena);
	if (save->folder < 0 || aj_fd_move_high(&save->folder) < 0) {
		aj_fail(err, AJ_EXIT_USAGE, "ask", errno, "open the folder of `%s` (--network-ask-save)", whom->save);
	} else if (jail_may_write(plan, save)) {
		aj_fail(err, AJ_EXIT_USAGE, "ask", 0,
		        "`%s` (--network-ask-save) lies where the jail may write: it could change its own list", whom->save);
		aj_advise(err, "keep the file outside of the workspace and of writable binds");
	} else {
		char *text = read_file(save, &mode, err), *more = text ? aj_ask_save_insert(text, "a.test", 1) : NULL;
		if (text && !more) {
			aj_fail(err, AJ_EXIT_USAGE, "ask", 0, "`%s` (--network-ask-save) has no list of hosts to add to",
			        whom->save);
			aj_advise(err,
			          "give it a section [network] with a line `allow = [`, or name a file that does not exist yet");
		}
		free(text);
		free(more);
	}
	if (!err->exit_code)
		return save;
	aj_ask_save_close(save);
	return NULL;
}

void aj_ask_save_close(struct aj_ask_save *save)
{
	if (!save)
		return;
	aj_close(&save->folder);
	free(save);
}
