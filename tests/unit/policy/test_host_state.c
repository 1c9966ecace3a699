/* Tests of host/state and of the locks in state folders: whose folders are used, and that homes, changes and the history lie in the one that workspaces may not reach. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/tree/remove.h"
#include "cli/shell/line_history.h"
#include "policy/host/own_folders.h"
#include "policy/load/load.h"
#include "workspace/changes/run_state.h"
#include "workspace/home/kept.h"
#include "workspace/location.h"

enum { OTHER = 40013 };

static char folder[] = "/tmp/aj-state-XXXXXX";
static struct aj_arena arena;

static const char *in(const char *path)
{
	return aj_printf(&arena, "%s/%s", folder, path);
}

static void prepare(void)
{
	cr_assert(mkdtemp(folder) && chmod(folder, 0755) == 0 && mkdir(in("home"), 0755) == 0 && mkdir(in("real"), 0755) == 0);
	cr_assert(symlink("real", in("link")) == 0 && symlink("home", in("linked_home")) == 0);
	setenv("HOME", in("home"), 1);
	unsetenv("XDG_STATE_HOME");
}

static void tidy(void)
{
	cleanup_fd int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
	cr_expect_eq(aj_tree_remove(tmp, strrchr(folder, '/') + 1), 0, "%s", strerror(errno));
	aj_arena_free(&arena);
}

TestSuite(state, .init = prepare, .fini = tidy);

static void lies_in(const char *ours, int fd, const char *what)
{
	char path[PATH_MAX];
	cr_assert(fd >= 0 && aj_fd_path(fd, path, sizeof path), "%s: %s", what, strerror(errno));
	cr_expect(aj_path_below(path, ours), "%s: %s is not below %s", what, path, ours);
	close(fd);
}

/* No jail may write `path` or a folder around it; what is not there yet cannot be bound. */
static void is_protected(const char *path)
{
	for (const char *at = path; strcmp(at, folder) != 0; at = aj_path_folder(at, &arena)) {
		struct aj_loaded loaded = { 0 };
		struct aj_site site = { .audit = "" };
		struct aj_error err = { 0 };
		struct aj_bind bind = { .source = at, .target = "/x", .writable = true };
		struct aj_request request = { .binds.items = &bind, .binds.count = 1 };
		if (access(at, F_OK) < 0)
			continue;
		cr_expect(aj_places_check(&request, &loaded, &site, &arena, &err) < 0 && strstr(err.cause, "configuration"),
		          "%s: %s", at, err.cause);
	}
}

/* All three are made, and lie below the path that aj_places_check() holds. */
static void is_used(const char *expected)
{
	struct aj_error err = { 0 };
	struct aj_policy policy = { .home = AJ_HOME_KEPT, .name = "p" };
	struct aj_request request = { 0 };
	const char *ours = aj_state_path(&arena);
	cr_assert(ours && strcmp(ours, expected) == 0, "%s is not %s", ours, expected);
	is_protected(ours);
	lies_in(ours, aj_changes_folder(true), "changes");
	lies_in(ours, aj_history_open(), "history");
	cr_assert(aj_kept_choose(&request, &policy, &arena, &err) == 0 && request.home_source, "%s", err.cause);
	cr_expect(aj_path_below(request.home_source, ours), "%s is not below %s", request.home_source, ours);
	struct aj_plan plan = { .home_source = request.home_source, .policy_name = "p", .host_uid = geteuid(), .host_gid = getegid() };
	lies_in(ours, aj_kept_open(&plan, &request, &err), "home");
	cr_expect(access(request.home_source, F_OK) == 0, "%s", request.home_source);
	is_protected(ours);
}

Test(state, by_home)
{
	is_used(in("home/.local/state/agentjail"));
}

Test(state, by_home_behind_a_link)
{
	setenv("HOME", in("linked_home"), 1);
	is_used(in("home/.local/state/agentjail"));
}

Test(state, by_variable)
{
	setenv("XDG_STATE_HOME", in("real/made/here/./"), 1);
	is_used(in("real/made/here/agentjail"));
}

Test(state, by_variable_behind_a_link)
{
	setenv("XDG_STATE_HOME", in("link/made"), 1);
	is_protected(in("link"));
	is_used(in("real/made/agentjail"));
	is_protected(in("link"));
}

Test(state, by_a_relative_variable)
{
	cr_assert_eq(chdir(in("real")), 0);
	setenv("XDG_STATE_HOME", "made", 1);
	is_used(in("home/.local/state/agentjail"));
	cr_expect(access(in("real/made"), F_OK) < 0 && chdir("/") == 0);
}

/* A link where a folder of ours should be is not followed, and a folder that others may write is not used. */
Test(state, hostile)
{
	struct aj_error err = { 0 };
	struct aj_policy policy = { .home = AJ_HOME_KEPT, .name = "p" };
	struct aj_request request = { 0 };
	setenv("XDG_STATE_HOME", in("real"), 1);
	cr_assert_eq(aj_kept_choose(&request, &policy, &arena, &err), 0);
	struct aj_plan plan = { .home_source = request.home_source, .policy_name = "p", .host_uid = geteuid(), .host_gid = getegid() };
	cr_assert(symlink("../home", in("real/agentjail")) == 0);
	cr_expect(aj_changes_folder(true) < 0 && aj_history_open() < 0 && aj_kept_open(&plan, &request, &err) < 0);
	cr_assert(unlink(in("real/agentjail")) == 0 && mkdir(in("real/agentjail"), 0700) == 0 && chmod(in("real/agentjail"), 0770) == 0);
	cr_expect(aj_changes_folder(true) < 0 && errno == EPERM && aj_history_open() < 0);
	err = (struct aj_error){ 0 };
	cr_expect(aj_kept_open(&plan, &request, &err) < 0 && strstr(err.cause, "others may write"), "%s", err.cause);
	cr_expect(access(in("home/changes"), F_OK) < 0 && access(in("home/history"), F_OK) < 0 && access(in("home/homes"), F_OK) < 0);
}

/* Nothing is made, and nothing is used, where the environment names nothing; nor in a home that is another user's. */
Test(state, nowhere)
{
	const char *given = getenv("HOME");
	setenv("XDG_STATE_HOME", "", 1);
	setenv("HOME", "", 1);
	cr_expect(aj_changes_folder(true) < 0 && errno == ENOENT && aj_history_open() < 0);
	setenv("HOME", given, 1);
	cr_expect(aj_changes_folder(false) < 0 && errno == ENOENT && access(in("home/.local"), F_OK) < 0);
	if (geteuid() != 0)
		return;
	cr_assert(mkdir(in("home/.local"), 0755) == 0 && mkdir(in("home/.local/state"), 0755) == 0 &&
	          chown(in("home/.local/state"), OTHER, OTHER) == 0 && seteuid(OTHER) == 0);
	int changes = aj_changes_folder(true), history = aj_history_open();
	const char *ours = aj_state_path(&arena);
	cr_assert(seteuid(0) == 0);
	cr_expect(changes < 0 && history < 0 && !ours, "not in another user's home");
}

/* --- locks --- */

Test(state, a_lock_is_seen)
{
	const char *path = in("lock");
	cleanup_fd int one = open(path, O_RDWR | O_CREAT, 0600), two = open(path, O_RDWR), look = open(path, O_RDONLY);
	cr_expect_not(aj_lock_is_held(look));
	cr_expect(aj_lock_take(one, false) == 0 && aj_lock_is_held(look) && aj_lock_take(two, false) == 0, "shared");
	cr_expect(aj_lock_take(one, true) < 0 && errno == EAGAIN, "the other one is still there");
	aj_close(&two);
	cr_expect(aj_lock_take(one, true) == 0 && aj_lock_is_held(look));
	cr_expect_not(aj_lock_is_held(one), "by another");
	two = open(path, O_RDWR);
	cr_expect(aj_lock_take(two, false) < 0 && errno == EAGAIN, "exclusive");
	aj_close(&one);
	cr_expect_not(aj_lock_is_held(look));
}

/* Run after run is begun while another program lists the runs, and lists them again. */
Test(state, a_look_at_runs_refuses_none)
{
	static const char record[] = "{\"version\":1,\"id\":\"x\",\"mode\":\"overlay\",\"workspace\":\"/tmp\",\"seen_at\":\"/tmp\",\"policy\":\"p\","
				     "\"command\":[],\"started_ns\":5,\"ended_ns\":6,\"device\":1,\"inode\":2,\"protected\":[]}";
	cleanup_fd int all = aj_changes_folder(true);
	cr_assert(all >= 0 && mkdirat(all, "x", 0700) == 0);
	cleanup_fd int fd = openat(all, "x/record.json", O_WRONLY | O_CREAT, 0600);
	cr_assert_eq(aj_write_all(fd, record, strlen(record)), 0);
	pid_t child = fork();
	while (child == 0) {
		struct aj_error err = { 0 };
		struct aj_change_state s;
		if (aj_change_state_open(all, "x", &s, &err) < 0)
			_exit(1);
		aj_change_state_close(&s);
	}
	int refused = 0, seen = 0;
	for (int i = 0; i < 4000; i++) {
		struct aj_error err = { 0 };
		struct aj_change_state s;
		cr_assert_eq(aj_change_state_open(all, "x", &s, &err), 0, "%s", err.cause);
		seen += s.running;
		refused += aj_change_state_lock(&s, &err) < 0;
		aj_change_state_close(&s);
	}
	kill(child, SIGKILL);
	int status;
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect(WIFSIGNALED(status), "the other program listed all the time");
	cr_expect(refused == 0 && seen == 0, "%d were refused, %d were taken for running", refused, seen);
}
