/* Tests of pty/relay: a terminal that is held for a question gets nothing of the jail's behind what it is told of as the last.
 * The caller's terminal and the jail's are pseudoterminals of the test's own, which holds their other ends. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/pty/terminal_relay.h"

static struct aj_loop *loop;
static struct aj_pty relay;
static int screen = -1, terminal = -1, jail = -1; /* the caller's terminal from outside and from inside; the jail's from inside */
static unsigned stills;
static char shown[1 << 20];
static size_t shown_bytes;

static void on_flushed(void *arg)
{
	(void)arg;
	stills++;
}

static size_t written;

static void on_output(void *arg, const char *data, size_t bytes)
{
	(void)arg;
	cr_expect(data && bytes);
	written += bytes;
}

static void start(void)
{
	int master;
	loop = aj_loop_new();
	cr_assert(openpty(&screen, &terminal, NULL, NULL, NULL) == 0 && openpty(&master, &jail, NULL, NULL, NULL) == 0);
	cr_assert_eq(fcntl(screen, F_SETFL, O_NONBLOCK) | fcntl(jail, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(aj_pty_open(&relay, loop, terminal, true, AJ_ESCAPES_FILTERED), 0);
	cr_assert_eq(aj_pty_start(&relay, master), 0);
	relay.on_flushed = on_flushed;
	relay.on_output = on_output;
}

static void done(void)
{
	aj_close(&jail);
	aj_close(&screen); /* the relay does not wait for it then */
	aj_pty_close(&relay, false);
	aj_close(&terminal);
	aj_loop_free(loop);
}
TestSuite(relay, .init = start, .fini = done);

/* All that the terminal shows; a thread of the kernel's moves it, so the end is when nothing has come for a while. */
static const char *look(void)
{
	for (int quiet = 0; quiet < 20;) {
		ssize_t n = read(screen, shown + shown_bytes, sizeof shown - 1 - shown_bytes);
		shown_bytes += n > 0 ? (size_t)n : 0;
		quiet = n > 0 ? 0 : quiet + 1;
		aj_loop_turn(loop, aj_now_us() + 1000);
	}
	shown[shown_bytes] = '\0';
	return shown;
}

/* Until it takes no more. */
static void flood(void)
{
	static char text[4096];
	memset(text, 'f', sizeof text);
	for (int full = 0; full < 20;) {
		full = write(jail, text, sizeof text) > 0 ? 0 : full + 1;
		aj_loop_turn(loop, aj_now_us() + 1000);
	}
}

/* A terminal passes keys on from a thread of the kernel's. */
static ssize_t get(int fd, char keys[16])
{
	for (int i = 0; i < 500 && poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 10) == 0; i++)
		look();
	return read(fd, keys, 16);
}

static bool ends_in(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* The terminal adds a return to the line feed. */
#define LAST "\033[?1049l\030\033\\\033]8;;\033\\\033[m\033(B\017\033[?25h\r\r\n\033[J"

Test(relay, a_question_comes_last)
{
	cr_assert_gt(write(jail, "\033[?1049h", 8), 0);
	flood();
	cr_expect_not(aj_pty_is_flushed(&relay), "control: the terminal takes no more");
	cr_expect_geq(written, 8 + 4096, "what the jail wrote is reported before the filter");
	aj_pty_pause(&relay, true);
	flood();
	cr_expect_eq(stills, 0);
	look();
	cr_expect_eq(stills, 1, "told once, when all has arrived");
	cr_expect(aj_pty_is_flushed(&relay));
	cr_expect(ends_in(look(), LAST), "%s", shown + (shown_bytes > 60 ? shown_bytes - 60 : 0));
	flood();
	size_t before = strlen(look());
	flood();
	cr_expect_eq(strlen(look()), before, "nothing follows");
	aj_pty_pause(&relay, false);
	cr_expect_gt(strlen(look()), before, "but what has waited, afterwards");
	cr_expect(strstr(shown + before, "\033[?1049h"));
}

Test(relay, keys_of_a_question_are_not_the_jails)
{
	char keys[16];
	aj_pty_pause(&relay, true);
	cr_assert_eq(write(screen, "run\n", 4), 4);
	cr_expect_eq(get(terminal, keys), 4, "a line, edited by the terminal");
	cr_expect_lt(read(jail, keys, sizeof keys), 0);
	aj_pty_pause(&relay, false);
	cr_assert_eq(write(screen, "key\r", 4), 4);
	cr_expect_eq(get(jail, keys), 4);
}

Test(relay, a_stop_during_a_question)
{
	aj_pty_pause(&relay, true);
	size_t before = strlen(look());
	signal(SIGTSTP, SIG_IGN); /* as in a group that no shell could continue */
	aj_pty_suspend(&relay, false);
	cr_expect_eq(strlen(look()), before, "changes nothing on the screen");
}
