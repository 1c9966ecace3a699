/* Makes the guest's terminal in the jail's own devpts, and leads its session.
 * It keeps the guest's side alone: the other one, which can type, goes to the supervisor before any guest exists. */
#include "sandbox/guest_terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/handshake.h"

int aj_step_terminal(struct aj_steps *w, struct aj_error *err)
{
	if (!w->plan->terminal)
		return 0;
	int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || ioctl(master, TIOCSPTLCK, &(int){ 0 }) < 0)
		return aj_step_fail(err, "terminal", "make a terminal in the jail's /dev/pts");
	w->terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (w->terminal < 0 || aj_fd_move_high(&w->terminal) < 0)
		return aj_step_fail(err, "terminal", "open the jail's terminal");
	if (setsid() < 0 || ioctl(w->terminal, TIOCSCTTY, 0) < 0)
		return aj_step_fail(err, "terminal", "lead the session of the jail's terminal");
	if (aj_msg_hand_over_fds(w->report, AJ_MSG_TERMINAL, &master, 1) < 0)
		return aj_step_fail(err, "terminal", "have the supervisor relay the jail's terminal");
	return 0;
}
