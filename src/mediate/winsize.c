/* Sets the size of a terminal in a jail's place, on a duplicate of its descriptor: only of terminals on the jail's own devpts.
 * The caller's terminal, /dev/tty and all others keep their size; a request for the current size, as readline makes before each prompt,
 * changes nothing and succeeds. */
#include "mediate/winsize.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* Each devpts numbers its pseudoterminals anew, so st_rdev says nothing; st_dev identifies the devpts. */
static bool is_own(const struct aj_reach *reach, int terminal)
{
	struct stat st;
	return reach->terminals && fstat(terminal, &st) == 0 && S_ISCHR(st.st_mode) && st.st_dev == reach->terminals;
}

int aj_winsize_find(const struct aj_reach *reach, const struct aj_notification *call, struct aj_winsize *ret)
{
	struct winsize now;
	*ret = (struct aj_winsize){ .terminal = -1 };
	aj_endpoint_rights(true);
	int wrong = aj_endpoint_fetch(reach, call, &ret->terminal);
	if (!wrong)
		wrong = aj_endpoint_read(call, 2, &ret->size, sizeof ret->size);
	aj_endpoint_rights(false);
	/* The kernel checks the terminal before the new size. */
	if (ret->terminal >= 0 && ioctl(ret->terminal, TIOCGWINSZ, &now) < 0)
		return errno;
	if (wrong)
		return wrong;
	ret->own = is_own(reach, ret->terminal);
	return ret->own || memcmp(&now, &ret->size, sizeof now) == 0 ? 0 : AJ_ENDPOINT_REFUSED;
}

int aj_winsize_set(const struct aj_winsize *w)
{
	/* On the caller's terminal not even the same size is set: its size may have changed since. */
	return w->own && ioctl(w->terminal, TIOCSWINSZ, &w->size) < 0 ? errno : 0;
}
