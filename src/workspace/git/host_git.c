/* Runs the host's git. What its repository or the user's configuration names is not run: no hook, fsmonitor, helper, pager,
 * transport or garbage collection. The settings are one table. */
#include "workspace/git/host_git.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/ids.h"
#include "base/prctl.h"
#include "base/program.h"
#include "base/text.h"

enum { WALL_MS = 120000, GRACE_MS = 3000, OUTPUT_BYTES = 256 << 20, SAID_BYTES = 4096, PEER = 3 };
/* Of git and of each of its processes: bounds what a small pack may inflate to. */
static const rlim_t memory_bytes = (rlim_t)4 << 30;

static const char *const settings[] = {
	/* programs */
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.alternateRefsCommand=true",
	"core.askPass=true",
	"core.pager=cat",
	"credential.helper=",
	"gc.auto=0",
	"maintenance.auto=false",
	"submodule.recurse=false",
	"fetch.recurseSubmodules=false",
	"log.showSignature=false",
	/* what comes from a run */
	"transfer.fsckObjects=true",
	"fetch.fsckObjects=true",
	"transfer.unpackLimit=1",
	"fetch.unpackLimit=1",
	"protocol.version=2",
	"fetch.writeCommitGraph=false",
	"fetch.showForcedUpdates=false",
	"core.bigFileThreshold=16m",
	"core.packedGitLimit=1g",
	"core.packedGitWindowSize=64m",
	"pack.threads=1",
	/* what another git of the host locks for a moment, or one that a killed apply has just started */
	"core.filesRefLockTimeout=5000",
	"core.packedRefsTimeout=5000",
	/* texts */
	"color.ui=false",
	"core.quotePath=false",
	"advice.detachedHead=false",
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* One process: git, or its peer. */
struct start {
	const char *program, *folder; /* its working directory; NULL: ours */
	char *const *argv, *const *env;
	int files[4]; /* what becomes its descriptors 0 to 3; -1: none */
	bool owned;   /* it gets these ids, and the limits */
	uid_t uid;
	gid_t gid;
	rlim_t file_bytes; /* RLIM_INFINITY: no limit */
	bool ends_with_us; /* else it finishes what it does */
	int lock;          /* 0: none */
};

/* Root takes the ids of the repository's owner. */
static int become(uid_t uid, gid_t gid)
{
	return geteuid() != 0 || uid == 0 ? 0 : aj_groups_clear() < 0 ? -1 : aj_ids_take(uid, gid);
}

_Noreturn static void begin(const struct start *s, pid_t parent)
{
	const struct rlimit memory = { memory_bytes, memory_bytes }, file = { s->file_bytes, s->file_bytes };
	sigset_t none;
	sigemptyset(&none);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	/* `files` are above 3, so that none is overwritten by another one's copy. */
	for (int i = 0; i < 4; i++)
		if (s->files[i] >= 0 && dup2(s->files[i], i) < 0)
			_exit(126);
	if (s->owned &&
	    ((s->file_bytes != RLIM_INFINITY && setrlimit(RLIMIT_FSIZE, &file) < 0) || setrlimit(RLIMIT_AS, &memory) < 0))
		_exit(126);
	if (s->owned && become(s->uid, s->gid) < 0)
		_exit(126);
	if (s->folder && chdir(s->folder) < 0 && chdir("/") < 0)
		_exit(126);
	/* After the change of ids, which clears it. */
	if (s->ends_with_us && aj_prctl_die_with_parent(parent, SIGTERM) < 0)
		_exit(126);
	if (s->lock > 0 && fcntl(s->lock, F_SETFD, 0) < 0)
		_exit(126);
	execve(s->program, s->argv, s->env);
	_exit(127);
}

static pid_t start(const struct start *s)
{
	pid_t us = getpid(), pid = aj_fork();
	if (pid == 0)
		begin(s, us);
	if (pid > 0)
		setpgid(pid, pid); /* or it has done so itself */
	return pid;
}

static int pipe_high(int *ret_from, int *ret_to)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*ret_from = ends[0], *ret_to = ends[1];
	return aj_fd_move_high(ret_from) < 0 || aj_fd_move_high(ret_to) < 0 ? -1 : 0;
}

static int input_file(const struct aj_buffer *input)
{
	cleanup_fd int fd = input ? memfd_create("input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || aj_fd_move_high(&fd) < 0)
		return -1;
	if (input && (aj_write_all(fd, input->data, input->bytes) < 0 || lseek(fd, 0, SEEK_SET) < 0))
		return -1;
	return aj_steal(&fd);
}

/* --- one run --- */

struct git_run {
	const struct aj_git *git;
	char dir[PATH_MAX]; /* the git folder's, through no symlink */
	struct aj_arena arena;
	pid_t pid, peer;
	int out, said; /* what we read */
	struct aj_buffer *output, dropped, text;
	int64_t until_us;
	const char *ended; /* why it did not end by itself */
};

static void stop(struct git_run *r, int sig)
{
	kill(-r->pid, sig);
	if (r->peer > 0)
		kill(-r->peer, sig);
}

/* False: its end. */
static bool take(struct git_run *r, int fd, struct aj_buffer *to, size_t max, bool drop)
{
	enum { CHUNK = 65536 };
	ssize_t n = read(fd, aj_buffer_reserve(to, CHUNK), CHUNK);
	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == EAGAIN);
	to->bytes += (size_t)n;
	if (to->bytes > max && !drop && !r->ended) {
		r->ended = "its output is too large";
		stop(r, SIGKILL);
	}
	to->bytes = to->bytes > max ? max : to->bytes;
	return true;
}

static void watch(struct git_run *r)
{
	struct pollfd files[2] = { { .fd = r->out, .events = POLLIN }, { .fd = r->said, .events = POLLIN } };
	while (files[0].fd >= 0 || files[1].fd >= 0) {
		int64_t left_ms = (r->until_us - aj_now_us()) / 1000;
		if (left_ms <= 0) {
			stop(r, r->ended ? SIGKILL : SIGTERM);
			r->ended = "it took too long";
			r->until_us = aj_in_ms(GRACE_MS);
			continue;
		}
		if (poll(files, 2, left_ms > INT_MAX ? INT_MAX : (int)left_ms) <= 0)
			continue;
		if (files[0].revents && !take(r, r->out, r->output, OUTPUT_BYTES, false))
			files[0].fd = -1;
		if (files[1].revents && !take(r, r->said, &r->text, SAID_BYTES, true))
			files[1].fd = -1;
	}
}

static int wait_for(pid_t pid)
{
	int status = -1;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* What was said as one line: a jail may have chosen the words. */
static const char *said(struct git_run *r)
{
	char *line = aj_alloc(&r->arena, 4 * r->text.bytes + 1);
	size_t bytes = aj_printable(line, r->text.data ? r->text.data : "", r->text.bytes);
	while (bytes && line[bytes - 1] == '\n')
		bytes--;
	line[bytes] = '\0';
	for (char *at = line; *at; at++)
		*at = (char)(*at == '\n' ? ';' : *at == '\t' ? ' ' : *at);
	return *line ? line : "it gave no reason";
}

static int finish(struct git_run *r, const char *verb, struct aj_error *err)
{
	int status = wait_for(r->pid);
	/* A peer whose git is gone has nobody to serve. */
	if (r->peer > 0)
		kill(-r->peer, r->ended ? SIGKILL : SIGTERM);
	wait_for(r->peer);
	if (!r->ended && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (!r->ended && WIFSIGNALED(status))
		r->ended = WTERMSIG(status) == SIGXFSZ ? "a file that it wrote is too large" : "a signal ended it";
	aj_fail(err, AJ_EXIT_SETUP, "git", 0, "git %s in `%s`: %s%s%s", verb, r->git->dir, r->ended ? r->ended : "",
	        r->ended ? ": " : "", said(r));
	return r->ended ? -1 : WEXITSTATUS(status);
}

static char *const *command_of(struct git_run *r, const char *const *argv)
{
	size_t count = 0, at = 0;
	while (argv[count])
		count++;
	char **words = aj_alloc(&r->arena, ((size_t)2 * SETTINGS + count + 4) * sizeof *words);
	words[at++] = aj_strdup(&r->arena, "git");
	words[at++] = aj_strdup(&r->arena, "--no-pager");
	for (size_t i = 0; i < SETTINGS; i++) {
		words[at++] = aj_strdup(&r->arena, "-c");
		words[at++] = aj_strdup(&r->arena, settings[i]);
	}
	for (size_t i = 0; i < count; i++)
		words[at++] = aj_strdup(&r->arena, argv[i]);
	return words;
}

/* The repository's own objects, as a quoted item of a list. */
static const char *objects_of(struct git_run *r)
{
	static const char name[] = "GIT_ALTERNATE_OBJECT_DIRECTORIES=\"";
	const char *path = r->git->common ? r->git->common : r->git->dir;
	char *out = aj_alloc(&r->arena, sizeof name + 2 * strlen(path) + 10), *at = stpcpy(out, name);
	for (; *path; *at++ = *path++)
		if (strchr("\"\\", *path))
			*at++ = '\\';
	stpcpy(at, "/objects\"");
	return out;
}

/* Whose ids root takes. Who owns a folder on the way can put another repository in place after the answer, and a folder of root's
 * in which others write may have a configuration of theirs: both are refused, as git refuses such owners. */
static int find_owner(const char *dir, struct stat *ret, struct aj_error *err)
{
	char path[PATH_MAX];
	uid_t other = 0;
	size_t bytes = (size_t)snprintf(path, sizeof path, "%s", dir);
	if (stat(dir, ret) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "git", errno, "examine the git folder `%s`", dir);
	if (geteuid() != 0)
		return 0;
	for (size_t at = 1; at <= bytes && at < sizeof path; at++) {
		struct stat st;
		if (path[at] != '/' && path[at] != '\0')
			continue;
		path[at] = '\0';
		if (lstat(path, &st) < 0)
			return aj_fail(err, AJ_EXIT_SETUP, "git", errno, "examine the folder `%s`", path);
		if (st.st_uid != 0 && st.st_uid != ret->st_uid)
			other = st.st_uid;
		if (at < bytes)
			path[at] = '/';
	}
	if (!other && !(ret->st_uid == 0 && (ret->st_mode & S_IWOTH)))
		return 0;
	if (other)
		aj_fail(err, AJ_EXIT_SETUP, "git", 0, "the git folder `%s` belongs to user %u, and a folder around it to user %u",
		        dir, (unsigned)ret->st_uid, (unsigned)other);
	else
		aj_fail(err, AJ_EXIT_SETUP, "git", 0, "the git folder `%s` belongs to root, and every user may write in it", dir);
	aj_advise(err, "give the git folder and those around it to one user with chown, or run agentjail as its owner");
	return -1;
}

/* Nothing of the user's: a configuration of theirs is for commands that they type. GIT_ALLOW_PROTOCOL also stops the fetch of an
 * object that a partial clone lacks. */
static char *const *environment_of(struct git_run *r)
{
	const struct aj_git *git = r->git;
	const char *all[] = {
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"LC_ALL=C",
		"HOME=/",
		"XDG_CONFIG_HOME=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=fd",
		"GIT_ADVICE=0",
		aj_printf(&r->arena, "GIT_DIR=%s", r->dir),
		git->tree ? aj_printf(&r->arena, "GIT_WORK_TREE=%s", git->tree) : NULL,
		git->index ? aj_printf(&r->arena, "GIT_INDEX_FILE=%s", git->index) : NULL,
		git->objects ? aj_printf(&r->arena, "GIT_OBJECT_DIRECTORY=%s", git->objects) : NULL,
		git->objects ? objects_of(r) : NULL,
	};
	size_t count = sizeof all / sizeof *all, at = 0;
	char **ret = aj_alloc(&r->arena, (count + 1) * sizeof *ret);
	for (size_t i = 0; i < count; i++)
		if (all[i])
			ret[at++] = aj_strdup(&r->arena, all[i]);
	return ret;
}

/* A fixed place first: PATH may name a folder that a jail wrote. */
static bool find_git(char *out, size_t room)
{
	if (access("/usr/bin/git", X_OK) == 0) {
		snprintf(out, room, "/usr/bin/git");
		return true;
	}
	return aj_program_find("git", out, room) && out[0] == '/';
}

/* Git, and before it its peer, over a pair of sockets: git shuts its end down, although its own processes still hold it. */
static int launch(struct git_run *r, const char *const *argv, const struct aj_buffer *input, struct aj_error *err)
{
	char program[PATH_MAX];
	struct stat st;
	cleanup_fd int in = -1, out = -1, text = -1, ours = -1, theirs = -1;
	int pair[2];
	if (!find_git(program, sizeof program)) {
		aj_fail(err, AJ_EXIT_SETUP, "git", 0, "the host has no git");
		aj_advise(err, "install git on the host; the files of a run can be applied without it");
		return -1;
	}
	if (!realpath(r->git->dir, r->dir))
		return aj_fail(err, AJ_EXIT_SETUP, "git", errno, "examine the git folder `%s`", r->git->dir);
	if (find_owner(r->dir, &st, err) < 0)
		return -1;
	if ((in = input_file(input)) < 0 || pipe_high(&r->out, &out) < 0 || pipe_high(&r->said, &text) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "git", errno, "make the pipes of git");
	if (r->git->peer) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			return aj_fail(err, AJ_EXIT_SETUP, "git", errno, "make the sockets of git");
		ours = pair[0], theirs = pair[1];
		if (aj_fd_move_high(&ours) < 0 || aj_fd_move_high(&theirs) < 0)
			return aj_fail(err, AJ_EXIT_SETUP, "git", errno, "make the sockets of git");
		const struct start peer = { .program = r->git->peer[0],
			                    .argv = (char *const *)(uintptr_t)r->git->peer,
			                    .env = environ,
			                    .files = { theirs, theirs, text, -1 },
			                    .ends_with_us = true };
		r->peer = start(&peer);
	}
	/* Paths in arguments and answers begin in `folder`. A repository made in its own git folder would be a bare one.
	 * A signal between git's making of a lock file and its note to remove it would leave the file: only a git that
	 * talks to a peer ends with us, since it makes none. */
	const struct start git = { .program = program,
		                   .folder = r->git->tree ? r->git->tree : "/",
		                   .argv = command_of(r, argv),
		                   .env = environment_of(r),
		                   .files = { in, out, text, ours },
		                   .owned = true,
		                   .ends_with_us = r->git->peer != NULL,
		                   .lock = r->git->lock,
		                   .uid = st.st_uid,
		                   .gid = st.st_gid,
		                   .file_bytes = r->git->file_bytes ? r->git->file_bytes : RLIM_INFINITY };
	r->pid = r->peer < 0 ? -1 : start(&git);
	return r->pid < 0 ? aj_fail(err, AJ_EXIT_SETUP, "git", errno, "start git") : 0;
}

int aj_git_run(const struct aj_git *git, const char *const *argv, const struct aj_buffer *input, struct aj_buffer *ret,
               struct aj_error *err)
{
	struct git_run r = { .git = git, .out = -1, .said = -1, .until_us = aj_in_ms(git->wall_ms ? git->wall_ms : WALL_MS) };
	r.output = ret ? ret : &r.dropped;
	int result = launch(&r, argv, input, err);
	if (result == 0) {
		watch(&r);
		result = finish(&r, argv[0], err);
	} else if (r.peer > 0) {
		kill(-r.peer, SIGKILL);
		wait_for(r.peer);
	}
	aj_close(&r.out);
	aj_close(&r.said);
	aj_buffer_free(&r.dropped);
	aj_buffer_free(&r.text);
	aj_arena_free(&r.arena);
	return result;
}

const char *aj_git_line(const struct aj_git *git, const char *const *argv, struct aj_arena *arena, int *ret_status,
                        struct aj_error *err)
{
	struct aj_buffer out = { 0 };
	int status = aj_git_run(git, argv, NULL, &out, err);
	const char *newline = status == 0 && out.bytes ? memchr(out.data, '\n', out.bytes) : NULL;
	const char *line = newline && newline > out.data ? aj_strndup(arena, out.data, (size_t)(newline - out.data)) : NULL;
	aj_buffer_free(&out);
	if (ret_status)
		*ret_status = status;
	return line;
}

int aj_git_as_owner(const struct stat *owner, int (*act)(void *arg), void *arg)
{
	pid_t pid = aj_fork();
	if (pid == 0)
		_exit(become(owner->st_uid, owner->st_gid) < 0 || act(arg) < 0 ? (errno ? errno : EIO) : 0);
	int status = pid < 0 ? -1 : wait_for(pid);
	if (pid >= 0)
		errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	return pid >= 0 && errno == 0 ? 0 : -1;
}
