/* Collecting a hostile folder: no link is followed, no FIFO waited for, no cap passed, whatever changes meanwhile. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "jail/files/collect.h"
#include "jail/files/copy_out.h"

static char root[40];
static struct aj_scratch scratch;
static struct aj_collect_how how;
static struct aj_collected found;

static void setup(void)
{
	/* A tmpfs, as a jail's /tmp is one, where the host has it. */
	snprintf(root, sizeof root, "%s/aj-collect.XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
	cr_assert_eq(mkdir("output", 0755), 0);
	cr_assert_geq(scratch.tmp = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), 0);
	how = (struct aj_collect_how){ .bytes_max = 1 << 20, .files_max = 10 };
}

static void teardown(void)
{
	char command[200];
	aj_collected_free(&found);
	close(scratch.tmp);
	snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", root, root);
	cr_expect_eq(system(command), 0); // NOLINT(cert-env33-c): the folder's name is ours
}

TestSuite(collect, .init = setup, .fini = teardown);

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	cr_assert_not_null(f, "%s", path);
	fputs(text, f);
	fclose(f);
}

static void collect(void)
{
	aj_collected_free(&found);
	struct aj_collect *c = aj_collect_begin(&scratch, &how);
	while (!aj_collect_turn(c, 0)) /* the smallest turns */
		;
	aj_collect_end(c, &found);
}

static const json_t *file(const char *name)
{
	size_t i;
	json_t *one;
	json_array_foreach(found.files, i, one)
		if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0)
			return one;
	return NULL;
}

static const char *skipped(const char *name)
{
	size_t i;
	json_t *one;
	json_array_foreach(found.skipped, i, one)
		if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0)
			return json_string_value(json_object_get(one, "why"));
	return NULL;
}

static unsigned open_fds(void)
{
	unsigned count = 0;
	for (int fd = 0; fd < 1000; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

Test(collect, names_sizes_hashes_and_bytes)
{
	unsigned before = open_fds();
	cr_assert_eq(mkdir("output/sub", 0755), 0);
	put("output/b.txt", "hello");
	put("output/sub/a.PNG", "");
	how.data = true;
	collect();
	cr_assert_eq(json_array_size(found.files), 2);
	cr_expect_null(found.skipped);
	cr_expect_str_eq(json_string_value(json_object_get(json_array_get(found.files, 0), "name")), "b.txt", "by name");
	cr_expect_eq(json_integer_value(json_object_get(file("b.txt"), "size")), 5);
	cr_expect_str_eq(json_string_value(json_object_get(file("b.txt"), "data")), "aGVsbG8=");
	cr_expect_str_eq(json_string_value(json_object_get(file("b.txt"), "sha256")),
	                 "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
	cr_expect_str_eq(json_string_value(json_object_get(file("sub/a.PNG"), "media_type")), "image/png");
	cr_expect_str_eq(json_string_value(json_object_get(file("sub/a.PNG"), "data")), "");
	cr_expect_eq(open_fds(), before, "no descriptor is left open");
}

Test(collect, no_folder_is_no_file_and_no_error)
{
	cr_assert_eq(rmdir("output"), 0);
	collect();
	cr_expect_eq(json_array_size(found.files), 0);
	cr_expect_null(found.skipped);
}

Test(collect, the_folder_itself_may_be_a_link_or_a_file)
{
	cr_assert_eq(rmdir("output"), 0);
	cr_assert_eq(symlink("/etc", "output"), 0);
	collect();
	cr_expect_eq(json_array_size(found.files), 0);
	cr_expect_not_null(skipped("."));
	cr_assert_eq(unlink("output"), 0);
	put("output", "x");
	collect();
	cr_expect_eq(json_array_size(found.files), 0);
	cr_expect_not_null(skipped("."));
}

Test(collect, what_is_no_regular_file_is_named_and_left_out)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "output/socket" };
	int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(socket_fd, (struct sockaddr *)&address, sizeof address), 0);
	cr_assert_eq(symlink("/etc/passwd", "output/link"), 0);
	cr_assert_eq(symlink("/etc", "output/folder-link"), 0);
	cr_assert_eq(symlink(".", "output/loop"), 0);
	cr_assert_eq(mkfifo("output/fifo", 0644), 0);
	put("output/real", "x");
	cr_assert_eq(link("output/real", "output/hard"), 0);
	collect();
	close(socket_fd);
	cr_expect_eq(json_array_size(found.files), 2, "a hard link is a file like any other");
	static const char *const others[] = { "socket", "link", "folder-link", "loop", "fifo" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		cr_expect_not_null(skipped(others[i]), "%s", others[i]);
}

Test(collect, names_that_no_caller_can_be_shown)
{
	char longest[300] = "output/";
	put("output/new\nline", "x");
	put("output/\x1b[31m", "x");
	put("output/\xff\xfe", "x");
	put("output/..x", "fine");
	memset(longest + strlen("output/"), 'x', NAME_MAX);
	longest[strlen("output/") + NAME_MAX] = '\0';
	put(longest, "fine");
	collect();
	cr_expect_eq(json_array_size(found.files), 2);
	cr_expect_eq(json_array_size(found.skipped), 3);
	char *text = json_dumps(found.skipped, 0);
	cr_assert_not_null(text, "the list of what was left out is JSON all the same");
	free(text);
}

Test(collect, caps_are_kept_and_hit_exactly)
{
	how.bytes_max = 10;
	put("output/a", "0123456789");
	collect();
	cr_expect_eq(json_array_size(found.files), 1, "exactly the cap");
	put("output/a", "0123456789x");
	collect();
	cr_expect_eq(json_array_size(found.files), 0, "a byte more");
	cr_expect(strstr(skipped("a"), "output.files"));
	int sparse = open("output/sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert_eq(ftruncate(sparse, (off_t)1 << 40), 0);
	close(sparse);
	how.data = true;
	collect();
	cr_expect_not_null(skipped("sparse"), "no byte of it is read, nor room for it made");
	for (int i = 0; i < 40; i++) {
		char path[32];
		snprintf(path, sizeof path, "output/many%d", i);
		put(path, "");
	}
	collect();
	cr_expect_eq(json_array_size(found.files), how.files_max);
	cr_expect_eq(json_array_size(found.skipped), 20, "the list is bounded");
}

Test(collect, deep_trees_end)
{
	char path[400] = "output";
	for (int i = 0; i < 60; i++) {
		strcat(path, "/d");
		cr_assert_eq(mkdir(path, 0755), 0);
	}
	strcat(path, "/file");
	put(path, "x");
	put("output/top", "x");
	collect();
	cr_expect_eq(json_array_size(found.files), 1);
	cr_expect_eq(json_array_size(found.skipped), 1);
}

Test(collect, wide_trees_end)
{
	enum { MANY = 21000 };
	int dir = open("output", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < MANY; i++) {
		char name[16];
		snprintf(name, sizeof name, "%d", i);
		cr_assert_eq(mknodat(dir, name, S_IFIFO | 0600, 0), 0);
	}
	close(dir);
	collect();
	cr_expect_eq(json_array_size(found.files), 0);
	cr_expect_eq(json_array_size(found.skipped), 20);
}

Test(collect, only_what_changed_since)
{
	struct stat st;
	put("output/old", "x");
	cr_assert_eq(stat("output/old", &st), 0);
	how.since = st.st_ctim;
	how.since.tv_sec++;
	collect();
	cr_expect_eq(json_array_size(found.files), 0);
	struct timespec future[2] = { { .tv_sec = 4000000000 }, { .tv_sec = 4000000000 } };
	cr_assert_eq(utimensat(AT_FDCWD, "output/old", future, 0), 0);
	collect();
	cr_expect_eq(json_array_size(found.files), 0, "a program cannot set the time of change");
	how.since.tv_sec -= 2;
	collect();
	cr_expect_eq(json_array_size(found.files), 1);
}

/* --- trees that change while they are walked --- */

static volatile bool stop;

static void *swap_files(void *arg)
{
	(void)arg;
	while (!stop) {
		rename("link", "output/victim");
		unlink("link");
		cr_assert_eq(symlink("../secret", "link"), 0);
		rename("file", "output/victim");
		put("file", "harmless");
		rename("output/folder", "away");
		rename("folder-link", "output/folder");
		unlink("output/folder");
		rename("away", "output/folder");
		cr_assert_eq(symlink("../hidden", "folder-link"), 0);
	}
	return NULL;
}

static void *grow_file(void *arg)
{
	static char data[1 << 16];
	int fd = open("output/growing", O_WRONLY | O_APPEND | O_CLOEXEC);
	(void)arg;
	while (!stop) {
		if (lseek(fd, 0, SEEK_END) > 1 << 22)
			cr_assert_eq(ftruncate(fd, 1), 0);
		cr_assert_geq(write(fd, data, sizeof data), 0);
	}
	close(fd);
	return NULL;
}

Test(collect, a_file_that_becomes_a_link_is_not_followed, .timeout = 60)
{
	enum { WALKS = 1000 };
	pthread_t thread;
	cr_assert_eq(mkdir("hidden", 0755), 0);
	cr_assert_eq(mkdir("output/folder", 0755), 0);
	put("hidden/inner", "the secret behind a folder");
	put("output/folder/inner", "harmless");
	put("secret", "the secret");
	put("file", "harmless");
	cr_assert_eq(symlink("../secret", "link"), 0);
	cr_assert_eq(pthread_create(&thread, NULL, swap_files, NULL), 0);
	unsigned seen = 0;
	for (int i = 0; i < WALKS; i++) {
		size_t at;
		json_t *one;
		collect();
		json_array_foreach(found.files, at, one) {
			json_int_t bytes = json_integer_value(json_object_get(one, "size"));
			seen += bytes == 8;
			cr_assert(bytes == 8 || bytes == 0, "%s has %lld bytes", json_string_value(json_object_get(one, "name")),
			          (long long)bytes);
		}
	}
	stop = true;
	pthread_join(thread, NULL);
	cr_expect_gt(seen, 0, "the walks saw the file at times");
}

Test(collect, a_growing_file_ends_where_it_ended_when_it_was_opened, .timeout = 60)
{
	pthread_t thread;
	how.bytes_max = 1 << 23;
	how.data = true;
	put("output/growing", "x");
	cr_assert_eq(pthread_create(&thread, NULL, grow_file, NULL), 0);
	for (int i = 0; i < 100; i++) {
		collect();
		json_int_t bytes = json_integer_value(json_object_get(file("growing"), "size"));
		cr_assert_leq(bytes, (1 << 22) + (2 << 16));
		cr_assert_eq(json_string_length(json_object_get(file("growing"), "data")), (size_t)(bytes + 2) / 3 * 4);
	}
	stop = true;
	pthread_join(thread, NULL);
}

/* --- copies --- */

static int folder(const char *path)
{
	struct aj_error err = { 0 };
	return aj_copy_out_folder(path, &err);
}

Test(collect, copies_are_new_files)
{
	struct stat st;
	cr_assert_eq(mkdir("output/sub", 0755), 0);
	put("output/sub/run.sh", "#!/bin/sh");
	put("output/taken", "theirs");
	put("output/sub/link", "theirs");
	cr_assert_eq(chmod("output/sub/run.sh", 07777), 0);
	cr_assert_geq(how.to = folder("host"), 3);
	/* Files of another program, which came meanwhile. */
	put("host/taken", "ours");
	cr_assert_eq(mkdir("host/sub", 0755), 0);
	cr_assert_eq(symlink("../secret", "host/sub/link"), 0);
	collect();
	close(how.to);
	cr_expect_eq(json_array_size(found.files), 1);
	cr_expect_not_null(skipped("taken"));
	cr_expect_not_null(skipped("sub/link"));
	cr_expect_eq(access("secret", F_OK), -1, "nothing was written through the link");
	cr_assert_eq(stat("host/sub/run.sh", &st), 0);
	cr_expect_eq(st.st_mode & 07133, 0, "neither set-id nor executable nor writable for others: %o", st.st_mode);
	cr_assert_eq(stat("host/taken", &st), 0);
	cr_expect_eq(st.st_size, 4);
}

Test(collect, a_folder_of_the_host_behind_a_link_gets_nothing)
{
	cr_assert_eq(mkdir("output/sub", 0755), 0);
	cr_assert_eq(mkdir("elsewhere", 0755), 0);
	put("output/sub/file", "x");
	cr_assert_geq(how.to = folder("host"), 3);
	cr_assert_eq(symlink("../elsewhere", "host/sub"), 0);
	collect();
	close(how.to);
	cr_expect_not_null(skipped("sub/file"));
	cr_expect_eq(rmdir("elsewhere"), 0, "it is empty");
}

Test(collect, the_folder_for_copies_is_new_or_empty)
{
	int fd = folder("new");
	cr_expect_geq(fd, 3);
	close(fd);
	fd = folder("new");
	cr_expect_geq(fd, 3, "and again, as it is empty");
	close(fd);
	put("new/.hidden", "x");
	cr_expect_eq(folder("new"), -1);
	cr_assert_eq(symlink("new", "link"), 0);
	cr_expect_eq(folder("link"), -1);
	put("file", "x");
	cr_expect_eq(folder("file"), -1);
	cr_expect_eq(folder("no/such"), -1);
}

Test(collect, a_copy_that_fails_leaves_nothing)
{
	struct aj_copy_out copy = { 0 };
	int to = folder("host");
	cr_assert_null(aj_copy_out_begin(&copy, to, "a/b/c"));
	cr_assert_null(aj_copy_out_add(&copy, "x", 1));
	aj_copy_out_drop(&copy);
	aj_copy_out_drop(&copy);
	cr_expect_eq(access("host/a/b/c", F_OK), -1);
	close(to);
}

/* --- paths --- */

Test(scratch, paths)
{
	static const struct {
		const char *path, *below;
	} rows[] = {
		{ "/tmp", "." },
		{ "/tmp/x", "./x" },
		{ "/input", "input" },
		{ "/input/a/b", "input/a/b" },
		{ "/output/x", "output/x" },
		{ "/outputx", NULL },
		{ "/", NULL },
		{ "/etc/passwd", NULL },
		{ "x", NULL },
		{ "/tmp/", NULL },
		{ "/tmp//x", NULL },
		{ "/tmp/./x", NULL },
		{ "/tmp/../etc", NULL },
		{ "/output/..", NULL },
		{ "", NULL },
		{ "/tmp/\n", NULL },
		{ "/tmp/\xff", NULL },
		{ "/input/..x", "input/..x" },
	};
	char room[AJ_SCRATCH_PATH], longest[AJ_SCRATCH_PATH + 10] = "/tmp/";
	const char *why;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *below = aj_scratch_path(rows[i].path, room, &why);
		cr_expect_eq(!below, !rows[i].below, "%s: %s", rows[i].path, why);
		cr_expect_eq(!below, !!why, "%s", rows[i].path);
		if (below && rows[i].below)
			cr_expect_str_eq(below, rows[i].below);
	}
	memset(longest + 5, 'x', sizeof longest - 6);
	cr_expect_null(aj_scratch_path(longest, room, &why));
}
