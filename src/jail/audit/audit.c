/* Opens and writes the audit trail. Refuses a file that another user could have changed, or whose last record is incomplete. */
#include "jail/audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/audit/chain.h"
#include "jail/audit/datagram.h"

static const struct {
	const char *name;
	enum aj_audit_kind kind;
	const char *socket;
} destinations[] = {
	{ "file:", AJ_AUDIT_FILE, NULL },
	{ "syslog", AJ_AUDIT_SYSLOG, "/dev/log" },
	{ "journal", AJ_AUDIT_JOURNAL, "/run/systemd/journal/socket" },
};

int aj_audit_parse(struct aj_audit *a, const char *destination, struct aj_error *err)
{
	*a = (struct aj_audit){ 0 };
	for (size_t i = 0; i < sizeof destinations / sizeof *destinations; i++) {
		const char *name = destinations[i].name, *socket = destinations[i].socket;
		if (socket ? strcmp(destination, name) != 0 : strncmp(destination, name, strlen(name)) != 0)
			continue;
		const char *path = socket ? socket : destination + strlen(name), *base = strrchr(path, '/');
		if (path[0] != '/' || !base[1] || strcmp(base, "/.") == 0 || strcmp(base, "/..") == 0)
			return aj_fail(err, AJ_EXIT_USAGE, "audit", 0, "`%s` is not the absolute path of a file", path);
		if (strlen(path) >= sizeof a->path)
			return aj_fail(err, AJ_EXIT_USAGE, "audit", ENAMETOOLONG, "`%.100s...`", path);
		a->kind = destinations[i].kind;
		memcpy(a->path, path, strlen(path) + 1);
		return 0;
	}
	aj_fail(err, AJ_EXIT_USAGE, "audit", 0, "`%s` is not a destination of an audit trail", destination);
	aj_advise(err, "use file:/absolute/path, syslog or journal");
	return -1;
}

static int refuse_path(struct aj_error *err, const char *path, const char *why, const char *fix)
{
	aj_fail(err, AJ_EXIT_SETUP, "audit", 0, "`%s` %s", path, why);
	aj_advise(err, "%s", fix);
	return -1;
}

/* A user who may write to the folder, or to any folder above, could replace the file. */
static int check_folders(char *folder, struct aj_error *err)
{
	static const char fix[] = "keep the trail where only its owner and root may write, for example /var/log/agentjail";
	size_t bytes = strlen(folder);
	for (size_t i = 1; i <= bytes; i++) {
		if (i != 1 && folder[i] != '/' && folder[i] != '\0')
			continue;
		char kept = folder[i];
		folder[i] = '\0';
		struct stat st;
		if (stat(folder, &st) < 0)
			return aj_fail(err, AJ_EXIT_SETUP, "audit", errno, "folder `%s`", folder);
		if (st.st_uid != geteuid() && st.st_uid != 0)
			return refuse_path(err, folder, "belongs to another user, which could replace the audit trail's file",
			                   fix);
		if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
			return refuse_path(err, folder,
			                   "is writable by every user, so every user could replace the audit trail's file", fix);
		folder[i] = kept;
	}
	return 0;
}

static int check_file(int fd, const char *path, struct aj_error *err)
{
	static const char fix[] = "move the file away; a new file is created with mode 0600";
	struct stat st;
	if (fstat(fd, &st) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "audit", errno, "`%s`", path);
	if (!S_ISREG(st.st_mode))
		return refuse_path(err, path, "is not a regular file", "name a regular file, or a path that does not exist yet");
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return refuse_path(err, path, "belongs to another user", fix);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return refuse_path(err, path, "is writable by other users", "read the file, then set its mode with chmod 600");
	if (st.st_nlink > 1)
		return refuse_path(err, path, "has a second hard link, through which a jail might reach the file", fix);
	return 0;
}

/* Report the failure. Other users' runs get EACCES, as the file has mode 0600: then advise the other destinations. */
static int fail_to_open(struct aj_error *err, const char *what, const char *path)
{
	aj_fail(err, AJ_EXIT_SETUP, "audit", errno, "%s `%s`", what, path);
	if (errno == EACCES || errno == EPERM)
		aj_advise(err,
		          "a file records only the runs of its owner: set audit.destination = \"journal\" or \"syslog\" to record the runs of every user");
	return -1;
}

/* Open the file, and its folder in `ret_folder_fd`. create: O_CREAT, or 0: -1 without err if the file can be created. */
static int open_file(const char *path, int create, int *ret_folder_fd, struct aj_error *err)
{
	char folder[PATH_MAX], real[PATH_MAX];
	const char *base = strrchr(path, '/') + 1;
	memcpy(folder, path, strlen(path) + 1);
	folder[base - path] = '\0';
	const char *there = realpath(folder, real);
	if (!there && (errno == EACCES || errno == EPERM))
		return fail_to_open(err, "search the folder", folder);
	if (!there) {
		aj_fail(err, AJ_EXIT_SETUP, "audit", errno, "folder `%s`", folder);
		aj_advise(err, "create the folder first, for example: install -d -m 0700 %.400s", folder);
		return -1;
	}
	if (check_folders(real, err) < 0)
		return -1;
	cleanup_fd int folder_fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder_fd < 0)
		return fail_to_open(err, "open the folder", real);
	/* O_NONBLOCK: opening a FIFO would block; check_file() refuses it. */
	int flags = O_RDWR | O_APPEND | create | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	cleanup_fd int fd = openat(folder_fd, base, flags, 0600);
	if (fd < 0 && errno == ELOOP)
		return refuse_path(err, path, "is a symlink", "name the file itself: the target of a symlink can change");
	if (fd < 0 && errno == ENOENT && !create)
		return faccessat(folder_fd, ".", W_OK | X_OK, AT_EACCESS) < 0 ? fail_to_open(err, "make a file in", real) : -1;
	if (fd < 0)
		return fail_to_open(err, create ? "make, or open for reading and appending," : "open for reading and appending",
		                    path);
	if (check_file(fd, path, err) < 0)
		return -1;
	*ret_folder_fd = aj_steal(&folder_fd);
	return aj_steal(&fd);
}

/* Take the lock, and read the last record and the size. */
static int lock_and_read_tail(int fd, const char *path, struct aj_chain_link *ret, off_t *ret_bytes, struct aj_error *err)
{
	char why[280];
	if (aj_chain_lock(fd, true) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "audit", errno, "lock `%s`", path);
		aj_advise(err, "another process holds the lock: `lslocks` or /proc/locks names it");
		return -1;
	}
	if (aj_chain_tail(fd, ret, ret_bytes, why, sizeof why) == 0)
		return 0;
	aj_fail(err, AJ_EXIT_SETUP, "audit", 0, "`%.100s` cannot be continued: %s", path, why);
	aj_advise(err, "run `agentjail audit verify %.200s`, then move the file away; the next run begins a new file", path);
	return -1;
}

static int append_record(const char *path, const char *object, size_t object_bytes, struct aj_error *err)
{
	struct aj_chain_link last;
	off_t before;
	cleanup_fd int folder_fd = -1;
	cleanup_fd int fd = open_file(path, O_CREAT, &folder_fd, err); /* closing it unlocks it */
	if (fd < 0 || lock_and_read_tail(fd, path, &last, &before, err) < 0)
		return -1;
	size_t bytes = 0;
	char *line = aj_chain_seal(object, object_bytes, &last, &bytes);
	if (!line)
		return aj_fail(err, AJ_EXIT_SETUP, "audit", ENOMEM, "compose a record");
	int error = bytes > AJ_CHAIN_RECORD_BYTES ? EMSGSIZE : aj_write_all(fd, line, bytes) < 0 ? errno : 0;
	free(line);
	if (error) {
		aj_fail(err, AJ_EXIT_SETUP, "audit", error, "append a record to `%s`", path);
		/* A partial line would end the chain for all writers. */
		if (ftruncate(fd, before) < 0)
			aj_advise(err, "a partly written record could not be removed (%s): move the file away", strerror(errno));
		else if (error == EMSGSIZE)
			aj_advise(err, "a record has at most %d KiB", AJ_CHAIN_RECORD_BYTES >> 10);
		else
			aj_advise(err, "make room for the file (disk, quota, `ulimit -f`); the file is unchanged");
		return -1;
	}
	/* Other writers need not wait for fdatasync(). */
	aj_chain_unlock(fd);
	if (fdatasync(fd) < 0 || (before == 0 && fsync(folder_fd) < 0))
		return aj_fail(err, AJ_EXIT_SETUP, "audit", errno, "write a record in `%s` to the disk (fdatasync)", path);
	return 0;
}

static int ready(const struct aj_audit *a, int create, struct aj_error *err)
{
	if (a->kind == AJ_AUDIT_SYSLOG || a->kind == AJ_AUDIT_JOURNAL)
		return aj_datagram_probe(a->path, err);
	if (a->kind == AJ_AUDIT_NONE)
		return 0;
	struct aj_chain_link last;
	off_t bytes;
	cleanup_fd int folder_fd = -1;
	cleanup_fd int fd = open_file(a->path, create, &folder_fd, err);
	if (fd < 0)
		return err->exit_code ? -1 : 0;
	return lock_and_read_tail(fd, a->path, &last, &bytes, err);
}

int aj_audit_ready(const struct aj_audit *a, struct aj_error *err)
{
	return ready(a, O_CREAT, err);
}

int aj_audit_probe(const char *destination, struct aj_error *err)
{
	struct aj_audit a;
	return strcmp(destination, "none") == 0 ? 0 : aj_audit_parse(&a, destination, err) < 0 ? -1 : ready(&a, 0, err);
}

int aj_audit_open(struct aj_audit *a, const char *destination, struct aj_error *err)
{
	return aj_audit_parse(a, destination, err) < 0 ? -1 : aj_audit_ready(a, err);
}

int aj_audit_write(const struct aj_audit *a, bool notable, json_t *record, struct aj_error *err)
{
	if (a->kind == AJ_AUDIT_NONE)
		return 0;
	bool chained = json_object_get(record, "seq") || json_object_get(record, "prev") || json_object_get(record, "hash");
	char *text = json_object_size(record) && !chained ? json_dumps(record, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	if (!text)
		return aj_fail(err, AJ_EXIT_SETUP, "audit", 0,
		               "the record is not a JSON object, has chain members already, or is not UTF-8");
	int r = a->kind == AJ_AUDIT_FILE   ? append_record(a->path, text, strlen(text), err)
	      : a->kind == AJ_AUDIT_SYSLOG ? aj_datagram_syslog(a->path, notable, text, err)
	                                   : aj_datagram_journal(a->path, notable, record, text, err);
	free(text);
	return r;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool aj_audit_visible(const struct aj_audit *a, const char *source)
{
	if (a->kind == AJ_AUDIT_NONE)
		return false;
	char path[PATH_MAX], real[PATH_MAX];
	memcpy(path, a->path, strlen(a->path) + 1);
	/* The file may not exist yet; then its folder is compared. */
	if (!realpath(path, real)) {
		if (errno != ENOENT)
			return true;
		*(strrchr(path, '/') + 1) = '\0';
		if (!realpath(path, real)) {
			if (errno != ENOENT)
				return true;
			memcpy(real, path, strlen(path) + 1);
		}
	}
	struct stat st, its;
	bool known = stat(source, &st) == 0;
	if (!known && errno != ENOENT)
		return true;
	/* From the file up to "/". */
	for (;;) {
		bool there = stat(real, &its) == 0;
		if (strcmp(real, source) == 0 || (known && there && same_inode(&st, &its)) || (!there && errno != ENOENT))
			return true;
		if (strcmp(real, "/") == 0)
			return false;
		char *slash = strrchr(real, '/');
		slash[slash == real] = '\0';
	}
}
