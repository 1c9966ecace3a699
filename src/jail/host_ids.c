/* Takes a host id for a jail from the site's range, so that jails of two tenants do not share the kernel's counters and grants of
 * an id. Only locks count: the kernel releases them when their owner dies; the file's contents are never read. */
#include "jail/host_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/item_types.h"

/* One byte for each id, locked with F_OFD_SETLK while a jail has the id: the kernel unlocks it however the owner ends. */
#define IDS_FILE "/run/agentjail.ids"

static int open_file(struct aj_error *err)
{
	struct stat st;
	cleanup_fd int fd = open(IDS_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "identity", errno, "open `" IDS_FILE "`, where ids are taken");
		aj_advise(err, "the site's identity.uids needs a /run that is writable for root");
		return -1;
	}
	/* Any user who can open the file could lock every id. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return aj_fail(err, AJ_EXIT_SETUP, "identity", 0, "`" IDS_FILE "` is not root's own file with mode 0600");
	return aj_steal(&fd);
}

/* 1: locked; 0: taken; -1 with errno. */
static int lock_id(int fd, uid_t id)
{
	struct flock byte = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = id, .l_len = 1 };
	if (fcntl(fd, F_OFD_SETLK, &byte) == 0)
		return 1;
	return errno == EAGAIN || errno == EACCES ? 0 : -1;
}

static int take_from_range(struct aj_id *id, uid_t first, uid_t last, struct aj_error *err)
{
	uint64_t start = 0, count = (uint64_t)last - first + 1;
	/* Starts at a random id: processes of a killed run may still be exiting under the first free one. */
	if (getrandom(&start, sizeof start, 0) != sizeof start)
		return aj_fail(err, AJ_EXIT_SETUP, "identity", errno, "draw random bytes");
	for (uint64_t i = 0; i < count; i++) {
		uid_t candidate = first + (uid_t)((start + i) % count);
		int mine = lock_id(id->fd, candidate);
		if (mine < 0)
			return aj_fail(err, AJ_EXIT_SETUP, "identity", errno, "lock id %u in `" IDS_FILE "`", candidate);
		if (mine) {
			id->id = candidate;
			return 0;
		}
	}
	aj_fail(err, AJ_EXIT_SETUP, "identity", 0, "all ids from %u to %u are in use by jails", first, last);
	aj_advise(err, "end jails, or give the site a larger range (identity.uids)");
	return -1;
}

int aj_id_take(struct aj_id *id, struct aj_host *host, const struct aj_site *site, struct aj_error *err)
{
	uid_t first, last;
	*id = AJ_NO_ID;
	host->own_id = 0;
	if (host->uid != 0 || !aj_ids_parse(site->uids, &first, &last))
		return 0;
	if (!host->may_map_ids)
		return aj_fail(err, AJ_EXIT_SETUP, "identity", 0,
		               "the site gives jails ids of their own, and agentjail may not map any id (CAP_SETUID and CAP_SETGID)");
	for (int i = 0; i < 2; i++)
		if (!aj_host_has_id(i ? last : first)) {
			aj_fail(err, AJ_EXIT_SETUP, "identity", 0,
			        "id %u of the site's range does not exist in this user namespace", i ? last : first);
			aj_advise(err, "choose a range that /proc/self/uid_map and gid_map hold (identity.uids)");
			return -1;
		}
	if ((id->fd = open_file(err)) < 0)
		return -1;
	if (take_from_range(id, first, last, err) < 0) {
		aj_close(&id->fd);
		return -1;
	}
	host->own_id = id->id;
	return 0;
}

void aj_id_give(struct aj_id *id)
{
	aj_close(&id->fd);
	id->id = 0;
}

void aj_id_show(struct aj_host *host, const struct aj_site *site)
{
	uid_t first, last;
	if (host->uid == 0 && host->may_map_ids && aj_ids_parse(site->uids, &first, &last))
		host->own_id = first;
}
