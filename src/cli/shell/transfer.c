/* Passes single files between the host and the session's jail. A file of the host is read and made with the person's rights. It
 * overwrites no file of the host, follows no symlink to one, and takes no more than 64 MiB: a jail's file may claim any size. */
#include "cli/shell/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/terminal/findings.h"

enum { FILE_BYTES = 64 << 20, PART_BYTES = 1 << 20 };

/* The two words; the second one is NULL where it is missing. False: there are none, or more. Free *ret_first. */
static bool split(const char *words, char **ret_first, const char **ret_second)
{
	static const char blanks[] = " \t";
	char *rest = NULL, *text = strdup(words);
	if (!text)
		abort();
	*ret_first = strtok_r(text, blanks, &rest);
	*ret_second = *ret_first ? strtok_r(NULL, blanks, &rest) : NULL;
	if (!*ret_first || strtok_r(NULL, blanks, &rest)) {
		free(text);
		return false;
	}
	memmove(text, *ret_first, strlen(*ret_first) + 1); /* blanks came before it */
	*ret_first = text;
	return true;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void print_failure(struct aj_shell *shell, struct aj_error *err)
{
	shell->code = shell->code ? shell->code : err->exit_code;
	aj_print_error(err);
}

void aj_transfer_put(struct aj_shell *shell, const char *words)
{
	struct agentjail_error err;
	struct aj_arena arena = { 0 };
	char *path;
	const char *name;
	if (!split(words, &path, &name)) {
		fputs("agentjail: `:put FILE [NAME]`; neither may have blanks\n", stderr);
		return;
	}
	struct agentjail_file file = { .name = name ? name : last_part(path), .path = path };
	if (!aj_shell_need_session(shell))
		;
	else if (agentjail_session_write_files(shell->session, &file, 1, &err) < 0)
		aj_shell_print_error(shell, &err);
	else
		fprintf(stderr, "%s%s\n", file.name[0] == '/' ? "" : "/input/", aj_line(&arena, file.name));
	free(path);
	aj_arena_free(&arena);
	aj_shell_notice_end(shell);
}

/* Copy the jail's file to `to`: its size, -1 with err. */
static int64_t copy(agentjail_session *session, const char *name, int to, struct aj_error *err)
{
	struct agentjail_error why;
	int64_t n, done = 0;
	char *part = malloc(PART_BYTES);
	if (!part)
		abort();
	while ((n = agentjail_session_read_file(session, name, (uint64_t)done, part, PART_BYTES, &why)) > 0 &&
	       done + n <= FILE_BYTES) {
		if (aj_write_all(to, part, (size_t)n) < 0) {
			aj_fail(err, AJ_EXIT_SETUP, "get", errno, "write the host's file");
			break;
		}
		done += n;
	}
	free(part);
	if (n < 0)
		aj_fail(err, why.code, why.step, 0, "%s", why.cause);
	else if (n > 0 && !err->exit_code)
		aj_fail(err, AJ_EXIT_USAGE, "get", 0, "`%s` is larger than %d MiB", name, FILE_BYTES >> 20);
	return err->exit_code ? -1 : done;
}

/* A new file, in a folder that is reached through no symlink. */
static int64_t fetch(agentjail_session *session, const char *name, const char *path, struct aj_error *err)
{
	struct aj_arena arena = { 0 };
	const char *base = last_part(path);
	int64_t bytes = -1;
	cleanup_fd int folder = aj_beneath_open(AT_FDCWD, aj_path_folder(path, &arena), O_PATH | O_DIRECTORY);
	cleanup_fd int fd = folder < 0 ? -1 : aj_beneath_open_here(folder, base, O_WRONLY | O_CREAT | O_EXCL);
	if (fd >= 0) {
		if ((bytes = copy(session, name, fd, err)) >= 0 && close(aj_steal(&fd)) < 0)
			bytes = aj_fail(err, AJ_EXIT_SETUP, "get", errno, "write the host's file");
		if (bytes < 0)
			unlinkat(folder, base, 0);
	} else if (errno == EEXIST) {
		aj_fail(err, AJ_EXIT_USAGE, "get", 0, "`%s` exists, and no file is overwritten", path);
		aj_advise(err, "`:get NAME FILE` writes to another file");
	} else if (errno == ELOOP) {
		aj_fail(err, AJ_EXIT_USAGE, "get", 0, "`%s` is below a symlink, which is not followed", path);
	} else {
		aj_fail(err, AJ_EXIT_USAGE, "get", errno, "make the file `%s`", path);
	}
	aj_arena_free(&arena);
	return bytes;
}

void aj_transfer_get(struct aj_shell *shell, const char *words)
{
	struct aj_error err = { 0 };
	struct aj_arena arena = { 0 };
	char *given;
	const char *to;
	if (!split(words, &given, &to)) {
		fputs("agentjail: `:get NAME [FILE]`; neither may have blanks\n", stderr);
		return;
	}
	const char *name = given[0] == '/' ? given : aj_printf(&arena, "/tmp/%s", given);
	to = to ? to : last_part(given);
	if (!shell->session)
		aj_fail(&err, AJ_EXIT_USAGE, "get", 0, "the session has no jail now, so there is no file `%s`", name);
	int64_t bytes = err.exit_code ? -1 : fetch(shell->session, name, to, &err);
	if (bytes < 0)
		print_failure(shell, &err);
	else
		fprintf(stderr, "%s: %lld bytes\n", aj_line(&arena, to), (long long)bytes);
	free(given);
	aj_arena_free(&arena);
}
