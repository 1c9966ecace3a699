/* Takes the descriptor of a jail's /tmp and translates the jail's paths. The root of the jail's runner (/proc/PID/root) shows its
 * mounts; no jail can change it: the runner has neither chroot nor mounts. The jail is asked for nothing and sends no
 * descriptor. */
#include "jail/files/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/pidfd.h"
#include "base/text.h"

static int fail(struct aj_error *err, int errnum, const char *what)
{
	return aj_fail(err, AJ_EXIT_SETUP, "files", errnum, "%s", what);
}

int aj_scratch_take(struct aj_scratch *scratch, const struct aj_plan *plan, pid_t runner, int pidfd, struct aj_error *err)
{
	char path[40];
	if (scratch->tmp)
		return 0;
	if (!plan->files)
		return fail(err, 0,
		            "the policy or the request binds something at /tmp, /input or /output, so no files can be exchanged there");
	snprintf(path, sizeof path, "/proc/%d/root", runner);
	cleanup_fd int root = pidfd < 0 ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int tmp = root < 0 ? -1 : aj_beneath_open(root, "tmp", O_PATH | O_DIRECTORY);
	if (tmp < 0)
		return fail(err, pidfd < 0 ? ESRCH : errno, "open the jail's /tmp");
	/* It still lives, so the number was not another process's by the time of the open. */
	if (aj_pidfd_ended(pidfd))
		return fail(err, ESRCH, "open the jail's /tmp");
	if (!aj_beneath_is_tmpfs_of(tmp, plan->host_uid))
		return fail(err, 0, "the jail's /tmp is not its scratch space");
	if (aj_fd_move_high(&tmp) < 0)
		return fail(err, errno, "keep the jail's /tmp open");
	scratch->tmp = aj_steal(&tmp);
	return 0;
}

void aj_scratch_close(struct aj_scratch *scratch)
{
	if (scratch->tmp)
		aj_close(&scratch->tmp);
	scratch->tmp = 0;
}

const char *aj_scratch_name_bad(const char *name)
{
	if (aj_has_control(name))
		return "its name holds a control character";
	return aj_utf8_valid_prefix(name, strlen(name)) == strlen(name) ? NULL : "its name is not UTF-8";
}

const char *aj_scratch_path(const char *path, char room[AJ_SCRATCH_PATH], const char **ret_why)
{
	static const char *const folders[][2] = { { "/tmp", "." }, { AJ_INPUT, "input" }, { AJ_OUTPUT, "output" } };
	const char *rest = NULL;
	*ret_why = aj_scratch_name_bad(path);
	for (size_t i = 0; i < sizeof folders / sizeof *folders && !rest && !*ret_why; i++) {
		rest = aj_path_rest(path, folders[i][0]);
		if (rest && (size_t)snprintf(room, AJ_SCRATCH_PATH, "%s%s", folders[i][1], rest) >= AJ_SCRATCH_PATH)
			*ret_why = "the path is too long";
	}
	if (!*ret_why && !rest)
		*ret_why = "the path is not at or below /tmp, /input or /output";
	for (const char *at = rest; at && *at && !*ret_why; at += 1 + strcspn(at + 1, "/"))
		if (!aj_path_part_valid(at + 1, strcspn(at + 1, "/")))
			*ret_why = "the path has an empty part, `.` or `..`";
	return *ret_why ? NULL : room;
}
