/* Reads lines with libedit, and the history of earlier sessions; the only file that calls libedit.
 * It reads no .editrc, and restores the terminal's modes whenever no line is being typed. */
#include "cli/shell/prompt.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/fd.h"
#include "cli/shell/line_history.h"

enum { CTRL_D = 4, ESCAPE = 0x1b };

/* Bracketed paste, as xterm's ctlseqs describes it: while it is on, a terminal marks the beginning and the end of what is
 * pasted. */
#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"
#define PASTE_BEGINS "\033[200~"
static const char paste_ends[] = "\033[201~";

struct aj_prompt {
	EditLine *edit;
	History *history;
	int history_fd;
	const char *words;
	const volatile sig_atomic_t *interrupts;
	sig_atomic_t seen; /* of *interrupts: those that discard no line any more */
	bool interrupted;
	sigset_t before; /* the signals that were blocked when the line was begun */
	mbstate_t state; /* of an incomplete multibyte character */
	FILE *out;
	bool brackets;    /* the terminal marks what is pasted */
	bool pasting;     /* its beginning has come, its end has not */
	size_t end_bytes; /* of paste_ends, so far */
	char *line;
};

static char *prompt_text(EditLine *edit)
{
	struct aj_prompt *p = NULL;
	el_get(edit, EL_CLIENTDATA, &p);
	return (char *)p->words;
}

/* Signals that arrive while a line is typed are delivered in await_key() alone: libedit's handlers do not restart a write, and
 * stdio would take the interrupted write for an error of standard output. */
static void block_signals(sigset_t *ret_before)
{
	static const int blocked[] = { SIGINT, SIGWINCH, SIGTSTP, SIGCONT };
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++)
		sigaddset(&set, blocked[i]);
	sigprocmask(SIG_BLOCK, &set, ret_before);
}

/* Wait for input; false when SIGINT arrives first. SIGINT is unblocked only by ppoll(), so none is lost between check and
 * wait. */
static bool await_key(const struct aj_prompt *p)
{
	struct pollfd key = { .fd = STDIN_FILENO, .events = POLLIN };
	bool again = true;
	while (again && *p->interrupts == p->seen) {
		again = ppoll(&key, 1, NULL, &p->before) < 0 && errno == EINTR;
		/* libedit's handler raises the signal again, for the handler before it: let it through. */
		sigset_t blocked;
		sigprocmask(SIG_SETMASK, &p->before, &blocked);
		sigprocmask(SIG_SETMASK, &blocked, NULL);
	}
	return *p->interrupts == p->seen;
}

/* libedit has read the mark. The bytes up to the end mark are text, whatever they look like. */
static unsigned char begin_paste(EditLine *edit, int key)
{
	struct aj_prompt *p = NULL;
	(void)key;
	el_get(edit, EL_CLIENTDATA, &p);
	p->pasting = true;
	p->end_bytes = 0;
	return CC_NORM;
}

/* Of a paste: text, tabs and newlines pass; the end mark and control characters, which are no text, do not. */
static bool takes_pasted(struct aj_prompt *p, char *byte)
{
	if (*byte == paste_ends[p->end_bytes]) {
		p->pasting = ++p->end_bytes < sizeof paste_ends - 1;
		return false;
	}
	p->end_bytes = *byte == ESCAPE;
	if (*byte == '\r')
		*byte = '\n';
	return ((unsigned char)*byte >= ' ' && *byte != 0x7f) || *byte == '\n' || *byte == '\t';
}

/* Replaces libedit's reader, which continues after a signal. Returns 1, 0 at end of file, or -1. */
static int read_character(EditLine *edit, wchar_t *ret)
{
	struct aj_prompt *p = NULL;
	el_get(edit, EL_CLIENTDATA, &p);
	for (;;) {
		char byte;
		if (!await_key(p)) {
			p->interrupted = true;
			p->pasting = false;
			return -1;
		}
		ssize_t n = read(STDIN_FILENO, &byte, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		if (p->pasting && !takes_pasted(p, &byte))
			continue;
		/* The kernel delivers a Ctrl-D that was typed in canonical mode as NUL. */
		if (byte == '\0')
			byte = CTRL_D;
		size_t used = mbrtowc(ret, &byte, 1, &p->state);
		if (used == (size_t)-2)
			continue;
		if (used == (size_t)-1) {
			memset(&p->state, 0, sizeof p->state);
			*ret = L'?';
		}
		return 1;
	}
}

#ifdef __SANITIZE_ADDRESS__
/* el_end() does not free the name and the description of a function that EL_ADDFN added. The sanitizer's library looks these two
 * up. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:wcsdup";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}
#endif

static void load_history(struct aj_prompt *p)
{
	struct aj_arena arena = { 0 };
	HistEvent event;
	p->history_fd = aj_history_open();
	history(p->history, &event, H_SETSIZE, AJ_HISTORY_LINES);
	history(p->history, &event, H_SETUNIQUE, 1);
	if (p->history_fd >= 0)
		for (char **line = aj_history_read(p->history_fd, &arena); *line; line++)
			history(p->history, &event, H_ENTER, *line);
	aj_arena_free(&arena);
}

struct aj_prompt *aj_prompt_open(FILE *out, const volatile sig_atomic_t *interrupts)
{
	struct aj_prompt *p = calloc(1, sizeof *p);
	if (!p)
		abort();
	/* Edit characters, not bytes: code is UTF-8 also where the locale does not say so. */
	if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
	p->interrupts = interrupts;
	p->seen = *interrupts;
	p->edit = el_init("agentjail", stdin, out, stderr);
	p->history = history_init();
	if (!p->edit || !p->history)
		abort();
	el_set(p->edit, EL_CLIENTDATA, p);
	el_set(p->edit, EL_PROMPT, prompt_text);
	el_set(p->edit, EL_EDITOR, "emacs");
	el_set(p->edit, EL_SIGNAL, 1);
	el_set(p->edit, EL_GETCFN, read_character);
	el_set(p->edit, EL_HIST, history, p->history);
	el_set(p->edit, EL_BIND, "^I", "ed-insert", NULL); /* a tab is a tab: this is Python */
	el_set(p->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
	el_set(p->edit, EL_BIND, "\033[3~", "ed-delete-next-char", NULL);
	el_set(p->edit, EL_ADDFN, "aj-paste", "The terminal begins to send what was pasted", begin_paste);
	el_set(p->edit, EL_BIND, PASTE_BEGINS, "aj-paste", NULL);
	load_history(p);
	const char *term = getenv("TERM");
	p->out = out;
	p->brackets = term && *term && strcmp(term, "dumb") != 0;
	if (p->brackets) {
		fputs(PASTE_ON, out);
		fflush(out);
	}
	return p;
}

enum aj_typed aj_prompt_read(struct aj_prompt *p, const char *text, const char **ret_line)
{
	HistEvent event;
	int bytes = 0;
	p->words = text;
	p->interrupted = false;
	memset(&p->state, 0, sizeof p->state);
	/* Set the terminal's modes before the prompt appears: until then the kernel edits what is typed. */
	el_set(p->edit, EL_PREP_TERM, 1);
	block_signals(&p->before);
	const char *line = el_gets(p->edit, &bytes);
	sigprocmask(SIG_SETMASK, &p->before, NULL);
	if (p->interrupted) {
		aj_prompt_skip_interrupts(p);
		return AJ_TYPED_INTERRUPT;
	}
	if (!line || bytes <= 0)
		return AJ_TYPED_END;
	free(p->line);
	p->line = strdup(line);
	if (!p->line)
		abort();
	p->line[strcspn(p->line, "\n")] = '\0';
	if (p->line[strspn(p->line, " \t")]) {
		history(p->history, &event, H_ENTER, p->line);
		aj_history_add(p->history_fd, p->line);
	}
	*ret_line = p->line;
	return AJ_TYPED_LINE;
}

void aj_prompt_skip_interrupts(struct aj_prompt *p)
{
	p->seen = *p->interrupts;
}

bool aj_prompt_pasting(const struct aj_prompt *p)
{
	return p->pasting;
}

void aj_prompt_close(struct aj_prompt *p)
{
	if (p->brackets)
		fputs(PASTE_OFF, p->out);
	history_end(p->history);
	el_end(p->edit);
	aj_close(&p->history_fd);
	free(p->line);
	free(p);
}
