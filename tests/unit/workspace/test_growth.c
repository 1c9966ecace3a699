/* The growth of a workspace, on real trees: what counts, what does not, and that no tree makes the walk give up or go astray. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workspace/growth.h"

enum { TURNS = 2000 };

/* In memory where there is such a place: a disk takes thrice as long for the deep folders. */
static char root[] = "/dev/shm/aj-growth.XXXXXX";
static struct aj_plan plan;
static const struct aj_built built = { .plan = &plan };
static struct aj_growth *growth;

static void setup(void)
{
	if (!mkdtemp(root)) {
		strcpy(root, "/tmp/aj-growth.XXXXXX");
		cr_assert_not_null(mkdtemp(root));
	}
	cr_assert_eq(chdir(root), 0);
	plan = (struct aj_plan){ .writable_workspace = root, .workspace_bytes = 1 << 20, .workspace_files = 100 };
}

static void teardown(void)
{
	char command[160];
	aj_growth_close(growth);
	snprintf(command, sizeof command, "rm -rf %s 2>/dev/null || { chmod -R u+rwx %s; rm -rf %s; }", root, root, root);
	cr_expect_eq(system(command), 0); // NOLINT(cert-env33-c): the folder's name is ours
}

TestSuite(growth, .init = setup, .fini = teardown);

static void put(const char *path, size_t bytes)
{
	static char data[1 << 16];
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	cr_assert_geq(fd, 0, "%s", path);
	memset(data, 'x', sizeof data);
	for (size_t n = 0; n < bytes; n += sizeof data)
		cr_assert_eq(write(fd, data, sizeof data), (ssize_t)sizeof data);
	close(fd);
}

static void put_many(const char *prefix, int count)
{
	char name[64];
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof name, "%s%d", prefix, i);
		put(name, 0);
	}
}

static void begin(uint64_t budget_ms)
{
	struct aj_error err = { 0 };
	cr_assert_eq(aj_growth_open(&growth, &built, &aj_growth_shared, budget_ms, &err), 0, "%s", err.cause);
	cr_assert_not_null(growth);
}

/* The finding of a walk of so many turns; NULL: none. */
static const char *found(int turns)
{
	const char *why = NULL;
	for (int i = 0; i < turns && !why; i++)
		why = aj_growth_turn(growth);
	return why;
}

Test(growth, nothing_is_measured_without_a_limit)
{
	struct aj_error err = { 0 };
	plan.workspace_bytes = plan.workspace_files = 0;
	cr_expect_eq(aj_growth_open(&growth, &built, &aj_growth_alone, 1000, &err), 0);
	cr_expect_null(growth);
	cr_expect_eq(aj_growth_due_us(NULL), INT64_MAX);
	cr_expect(!aj_growth_last(NULL));
}

Test(growth, what_was_there_does_not_count)
{
	put("old", 8 << 20);
	put_many("o", 500);
	begin(60000);
	cr_expect_null(found(20));
	cr_assert_eq(unlink("old"), 0);
	put("new", 4 << 20);
	cr_expect_null(found(20), "it takes less than before");
	cr_expect(!aj_growth_last(growth));
}

Test(growth, bytes)
{
	begin(60000);
	put("new", 512 << 10);
	cr_expect_null(found(20));
	put("new", 1 << 20);
	cr_expect_null(aj_growth_turn(growth), "a second pass has to confirm it");
	const char *why = found(2);
	cr_assert_not_null(why);
	cr_expect(strstr(why, "bytes, of at most 1048576"), "%s", why);
	cr_expect(aj_growth_last(growth));
	cr_assert_eq(unlink("new"), 0);
	cr_expect(!aj_growth_last(growth));
}

Test(growth, files_and_folders)
{
	begin(60000);
	cr_assert_eq(mkdir("d", 0755), 0);
	put_many("d/n", 99);
	cr_expect_null(found(20));
	cr_assert_eq(symlink("n0", "d/link"), 0);
	const char *why = found(20);
	cr_assert_not_null(why);
	cr_expect_str_eq(why, "the workspace has grown by 101 files and folders, of at most 100");
}

Test(growth, a_file_with_two_names_counts_once)
{
	put("a", 768 << 10);
	begin(60000);
	put("b", 768 << 10);
	cr_assert_eq(link("b", "c"), 0);
	cr_expect_null(found(20));
}

Test(growth, no_link_is_followed)
{
	begin(60000);
	cr_assert_eq(symlink("/usr", "usr"), 0);
	cr_assert_eq(symlink(".", "here"), 0);
	cr_expect_null(found(50));
}

/* The first pass had no time: what was there is told from what is new by its birth, or its last change. */
Test(growth, the_start_is_found_while_the_jail_runs)
{
	put_many("o", 3000);
	put("old", 8 << 20);
	usleep(20000); // the file system's clock is coarse
	begin(0);
	cr_expect_null(found(50));
	put_many("n", 101);
	const char *why = found(50);
	cr_assert_not_null(why);
	cr_expect(strstr(why, "files and folders"), "%s", why);
}

Test(growth, what_is_made_before_the_start_is_known_counts)
{
	put_many("o", 3000);
	usleep(20000);
	begin(0);
	put("new", 2 << 20);
	cr_expect_not_null(found(50));
}

static void nest(int levels)
{
	for (int i = 0; i < levels; i++) {
		cr_assert_eq(mkdir("nested-as-configure-does", 0755), 0);
		cr_assert_eq(chdir("nested-as-configure-does"), 0);
	}
}

/* Longer than any path that the kernel takes. */
Test(growth, deep_folders_are_measured)
{
	plan.workspace_files = 0;
	plan.workspace_bytes = 8 << 20; /* where each folder takes a block the folders take 4 MiB */
	begin(60000);
	nest(1000);
	cr_expect_null(found(50));
	put("deep", 9 << 20);
	cr_assert_eq(chdir(root), 0);
	const char *why = found(TURNS);
	cr_assert_not_null(why);
	cr_expect(strstr(why, "bytes, of at most"), "%s", why);
}

/* A folder of this depth takes as many entries as lie between two looks at the clock, with the four of a folder that holds a file. */
Test(growth, a_walk_looks_at_the_clock_at_every_depth)
{
	enum { DEPTH = 467, FOLDERS = 1000 };
	static const struct aj_growth_pace no_time = { UINT32_MAX, 0 };
	struct aj_error err = { 0 };
	char name[16];
	int turns = 1;
	plan.workspace_bytes = 0;
	plan.workspace_files = DEPTH + 2 * FOLDERS - 50;
	cr_assert_eq(aj_growth_open(&growth, &built, &no_time, 60000, &err), 0, "%s", err.cause);
	nest(DEPTH);
	for (int i = 0; i < FOLDERS; i++) {
		snprintf(name, sizeof name, "%d", i);
		cr_assert_eq(mkdir(name, 0755), 0);
		strcat(name, "/f");
		put(name, 0);
	}
	cr_assert_eq(chdir(root), 0);
	while (turns < 10 * FOLDERS && !aj_growth_turn(growth))
		turns++;
	cr_expect_lt(turns, 10 * FOLDERS);
	cr_expect_gt(turns, 2 * (FOLDERS - 50), "%d turns: in each of the two passes a folder takes one", turns);
}

Test(growth, what_is_too_deep_to_be_measured_ends_the_jail)
{
	plan.workspace_files = 0;
	plan.workspace_bytes = 1 << 30;
	begin(60000);
	nest(2500);
	cr_assert_eq(chdir(root), 0);
	const char *why = found(TURNS);
	cr_assert_not_null(why);
	cr_expect(strstr(why, "nested too deep"), "%s", why);
}

/* An earlier run may have left it. */
Test(growth, what_is_too_deep_before_the_start_is_refused)
{
	struct aj_error err = { 0 };
	nest(2500);
	cr_assert_eq(chdir(root), 0);
	cr_expect_eq(aj_growth_open(&growth, &built, &aj_growth_shared, 60000, &err), -1);
	cr_expect_null(growth);
	cr_expect(strstr(err.cause, "nested too deep"), "%s", err.cause);
}

Test(growth, what_becomes_too_deep_beside_the_first_walk_ends_the_jail)
{
	begin(0);
	nest(2500);
	cr_assert_eq(chdir(root), 0);
	cr_expect_not_null(found(TURNS));
}

Test(growth, what_is_too_deep_at_the_end_is_too_much)
{
	begin(60000);
	nest(2500);
	cr_assert_eq(chdir(root), 0);
	cr_expect(aj_growth_last(growth));
}

/* Where the supervisor is the jail's own user. */
Test(growth, a_folder_that_is_closed_and_stays_so_ends_the_jail)
{
	bool privileged = geteuid() == 0;
	if (privileged) {
		cr_assert_eq(chmod(root, 0777), 0);
		cr_assert_eq(setresuid(40000, 40000, 0), 0);
	}
	begin(60000);
	cr_assert_eq(mkdir("x", 0755), 0);
	put("x/much", 2 << 20);
	cr_assert_eq(chmod("x", 0), 0);
	cr_expect_null(found(2), "a program may do so for a moment");
	const char *why = found(20);
	cr_assert_eq(chmod("x", 0755), 0);
	cr_assert(!privileged || setresuid(0, 0, 0) == 0);
	cr_assert_not_null(why);
	cr_expect(strstr(why, "closed to the supervisor"), "%s", why);
}
