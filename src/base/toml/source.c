/* Opens, checks, reads and hashes policy files; the only file of this folder that makes system calls.
 * It never opens a path twice: the checked file is the one whose bytes are hashed and parsed. */
#include "base/toml/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

static int refuse(struct aj_diags *diags, const struct aj_origin *at, const char *path, const char *why, const char *advice)
{
	aj_diag_error(diags, at, AJ_E_TRUST, "`%s` %s", path, why);
	if (advice)
		aj_diag_advise(diags, "%s", advice);
	return -1;
}

/* Could another user than root and the caller have written this file, or put it there? */
static int check_owner(const struct stat *st, const char *path, const struct aj_origin *at, struct aj_diags *diags)
{
	bool folder = S_ISDIR(st->st_mode);
	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		const char *what = aj_printf(diags->arena, "belongs to user id %u, which could change the file", st->st_uid);
		return refuse(diags, at, path, what,
		              "a policy and its folder must belong to root or to the user that runs agentjail");
	}
	/* In a sticky folder no other user can replace a file, and the file's own owner was checked. A group with its owner's
	 * number is the private group that distributions give each user, together with a umask of 002. */
	mode_t others = st->st_gid == st->st_uid ? S_IWOTH : S_IWOTH | S_IWGRP;
	if ((st->st_mode & others) && !(folder && (st->st_mode & S_ISVTX)))
		return refuse(diags, at, path, "is writable by others", aj_printf(diags->arena, "chmod go-w '%s'", path));
	return 0;
}

/* A symlink inside the folder is followed, so the file may lie in a subfolder. */
static int check_folders(int fd, int dir, const char *folder, const struct aj_origin *at, struct aj_diags *diags)
{
	struct stat st;
	char real[PATH_MAX];
	if (fstat(dir, &st) < 0)
		return refuse(diags, at, folder, aj_printf(diags->arena, "cannot be examined: %s", strerror(errno)), NULL);
	if (check_owner(&st, folder, at, diags) < 0)
		return -1;
	if (!aj_fd_path(fd, real, sizeof real))
		return refuse(diags, at, folder, "contains the file, but the file's real path cannot be read (is /proc mounted?)",
		              NULL);
	const char *below = aj_path_folder(real, diags->arena);
	return stat(below, &st) < 0 ? refuse(diags, at, below, "cannot be examined", NULL) : check_owner(&st, below, at, diags);
}

static int open_beneath(const char *path, bool optional, const struct aj_origin *at, struct aj_diags *diags)
{
	const char *folder = aj_path_folder(path, diags->arena), *slash = strrchr(path, '/');
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	cleanup_fd int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *name = slash ? slash + 1 : path;
	cleanup_fd int fd = dir < 0 ? -1 : aj_open_resolved(dir, name, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	/* ENOSYS: the filter of a container or a jail denies openat2; then no symlink is followed. */
	if (dir >= 0 && fd < 0 && errno == ENOSYS)
		fd = openat(dir, name, flags | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT && optional) {
		/* A dangling symlink is not absent: its author meant the file to be read. */
		struct stat st;
		const char *there = dir < 0 ? folder : path;
		if (lstat(there, &st) < 0 && errno == ENOENT)
			return -2;
		return refuse(diags, at, there, "is a symlink that leads to no file", "repair or remove the symlink");
	}
	if (fd < 0 && errno == EXDEV)
		return refuse(diags, at, path, "is a symlink that leads out of its folder", "name the file that it points to");
	if (fd < 0)
		return refuse(diags, at, path, aj_printf(diags->arena, "cannot be opened: %s", strerror(errno)), NULL);
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return refuse(diags, at, path, "is not a regular file", NULL);
	if (check_owner(&st, path, at, diags) < 0 || check_folders(fd, dir, folder, at, diags) < 0)
		return -1;
	if (st.st_size > AJ_TOML_MAX_BYTES)
		return refuse(diags, at, path,
		              aj_printf(diags->arena, "is larger than a policy may be (%d KiB)", AJ_TOML_MAX_BYTES >> 10), NULL);
	return aj_steal(&fd);
}

const char *aj_source_place(const char *path, struct aj_arena *arena)
{
	struct stat st;
	char *folder = realpath(aj_path_folder(path, arena), NULL);
	const char *slash = strrchr(path, '/'), *place = NULL;
	if (folder && lstat(path, &st) == 0)
		place = aj_printf(arena, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, slash ? slash + 1 : path);
	free(folder);
	return place;
}

const char *aj_source_folder(const struct aj_source *source, struct aj_arena *arena)
{
	char *real = source->folder ? realpath(source->folder, NULL) : NULL;
	const char *folder = real ? aj_strdup(arena, real) : NULL;
	free(real);
	return folder;
}

bool aj_source_within(const char *path, const char *folder, struct aj_arena *arena)
{
	struct stat at, wanted;
	if (stat(folder, &wanted) < 0)
		return false;
	/* Compare folders by device and inode, as each may have several names. */
	for (const char *p = path;; p = aj_path_folder(p, arena)) {
		if (stat(p, &at) == 0 && at.st_dev == wanted.st_dev && at.st_ino == wanted.st_ino)
			return true;
		if (strcmp(p, "/") == 0 || strcmp(p, ".") == 0)
			return false;
	}
}

int aj_source_parse(struct aj_source *source, const char *file, const char *folder, const char *text, size_t bytes,
                    struct aj_diags *diags)
{
	struct aj_toml_error err;
	*source = (struct aj_source){ .file = file, .folder = folder, .text = text, .bytes = bytes };
	aj_sha256(text, bytes, source->sha256);
	if (aj_toml_parse(&source->root, diags->arena, text, bytes, &err) < 0) {
		struct aj_origin where = { source->file, err.line, err.column };
		return aj_diag_error(diags, &where, AJ_E_SYNTAX, "%s", err.message);
	}
	return 0;
}

int aj_source_read(struct aj_source *source, const char *path, bool optional, const struct aj_origin *at, struct aj_diags *diags)
{
	cleanup_fd int fd = open_beneath(path, optional, at, diags);
	if (fd < 0)
		return fd == -2 ? 1 : -1;
	char *text = aj_alloc(diags->arena, AJ_TOML_MAX_BYTES + 1);
	size_t have = 0;
	for (ssize_t n = 1; n > 0 && have <= AJ_TOML_MAX_BYTES; have += (size_t)n)
		if ((n = read(fd, text + have, AJ_TOML_MAX_BYTES + 1 - have)) < 0)
			return refuse(diags, at, path, aj_printf(diags->arena, "cannot be read: %s", strerror(errno)), NULL);
	bool nameable = aj_utf8_valid_prefix(path, strlen(path)) == strlen(path);
	const char *file = nameable ? aj_strdup(diags->arena, path) : "<file>";
	return aj_source_parse(source, file, aj_path_folder(path, diags->arena), text, have, diags);
}

static struct aj_toml *unpack(const struct aj_builtin *b, unsigned first, unsigned count, struct aj_arena *arena)
{
	struct aj_toml *nodes = aj_alloc(arena, count * sizeof *nodes);
	for (unsigned i = 0; i < count; i++) {
		const struct aj_toml_row *row = &b->rows[first + i];
		nodes[i] = (struct aj_toml){ .kind = row->kind,
			                     .line = row->line,
			                     .column = row->column,
			                     .key = row->key ? b->strings + row->key : NULL,
			                     .text = row->text ? b->strings + row->text : NULL,
			                     .text_bytes = row->text_bytes,
			                     .integer = row->integer,
			                     .boolean = row->boolean,
			                     .children = row->count ? unpack(b, row->children, row->count, arena) : NULL,
			                     .count = row->count };
	}
	return nodes;
}

int aj_source_builtin(struct aj_source *source, const char *name, struct aj_arena *arena)
{
	for (const struct aj_builtin *b = aj_builtins; b->name; b++) {
		if (strcmp(b->name, name) != 0)
			continue;
		*source = (struct aj_source){
			.file = aj_printf(arena, "built-in %s%s", name, strchr(name, '.') ? "" : ".toml"),
			.built_in = true,
			.text = b->text,
			.bytes = strlen(b->text),
			.root = *unpack(b, 0, 1, arena),
		};
		memcpy(source->sha256, b->sha256, AJ_SHA256_HEX);
		return 0;
	}
	return -1;
}
