/* Takes and tests locks that belong to an open file description (F_OFD_SETLK, fcntl_locking(2)).
 * It waits for no lock. */
#include "base/lock.h"

#include <fcntl.h>
#include <unistd.h>

int aj_lock_take(int fd, bool exclusive)
{
	struct flock whole = { .l_type = exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET };
	return fcntl(fd, F_OFD_SETLK, &whole);
}

bool aj_lock_is_held(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	return fcntl(fd, F_OFD_GETLK, &whole) < 0 || whole.l_type != F_UNLCK;
}
