/* Runs the snippets of `agentjail session` with the library, and shows their results.
 * It reads no input, and a failing snippet does not end it. */
#include "cli/shell/shell.h"

#include <jansson.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/scope.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/summary.h"
#include "lib/api_inner.h"

/* So many SIGINTs end the jail; each of them interrupts the snippet. */
enum { INTERRUPTS = 3 };
/* Bytes kept for a terminal that does not take output; bytes beyond that are dropped. */
enum { KEPT_MAX = 1 << 20 };

volatile sig_atomic_t aj_shell_interrupts;
static agentjail_session *volatile running;

static void on_interrupt(int sig)
{
	(void)sig;
	if (aj_shell_interrupts < 1 << 30)
		aj_shell_interrupts++;
	if (running)
		agentjail_interrupt(running);
}

void aj_shell_print_error(struct aj_shell *shell, const struct agentjail_error *why)
{
	struct aj_error err = { 0 };
	aj_fail(&err, why->code, why->step, 0, "%s", why->cause);
	if (why->fix[0])
		aj_advise(&err, "%s", why->fix);
	shell->code = shell->code ? shell->code : why->code;
	aj_print_error(&err);
}

static void warn_unenforced(void *arg, const char *policy, const char *line)
{
	(void)arg;
	(void)policy;
	fprintf(stderr, "agentjail: %s\n", line);
}

int aj_shell_open(struct aj_shell *shell, struct aj_options *o, struct aj_error *err)
{
	struct aj_host host;
	struct aj_manager_config config = { .site = o->config,
		                            .rootfs = o->request.rootfs,
		                            .cgroup = o->request.cgroup,
		                            .unenforced = o->json ? NULL : warn_unenforced };
	shell->json = o->json;
	shell->value_of_statement = o->request.snippet.value_of_statement;
	shell->seed = (uint32_t)o->request.snippet.seed.value;
	shell->seeded = o->request.snippet.seed.given;
	aj_show_init(&shell->show, NULL);
	shell->show.tracebacks = true;
	for (int fd = 1; fd <= 2; fd++)
		shell->show.screens[fd].kept_max = KEPT_MAX;
	if (aj_host_gather(&host, o->arena, o->request.cgroup, err) < 0)
		return -1;
	aj_scope_when_demanded(&host, o);
	shell->handle = aj_lib_open(&config, &o->ask, NULL, o->request.workspace, err);
	if (shell->handle)
		shell->handle->keep_values = shell->person;
	/* SA_RESTART: stdio takes a write to the terminal that a signal interrupts for an error of standard output. poll() never
	 * restarts. */
	sigaction(SIGINT, &(struct sigaction){ .sa_handler = on_interrupt, .sa_flags = SA_RESTART }, NULL);
	return shell->handle ? 0 : -1;
}

static const char *text_of(const json_t *doc, const char *key)
{
	const char *text = json_string_value(json_object_get(doc, key));
	return text ? text : "";
}

static int exit_code_of(const agentjail_result *result)
{
	static const int codes[] = {
		[AJ_STATUS_OK] = AJ_EXIT_OK,
		[AJ_STATUS_ERROR] = AJ_EXIT_ERROR,
		[AJ_STATUS_REJECTED] = AJ_EXIT_REJECTED,
		[AJ_STATUS_TIMEOUT] = AJ_EXIT_TIMEOUT,
		[AJ_STATUS_OOM] = AJ_EXIT_OOM,
		[AJ_STATUS_LIMIT] = AJ_EXIT_LIMIT,
		[AJ_STATUS_PROTOCOL_ERROR] = AJ_EXIT_PROTOCOL,
		[AJ_STATUS_SETUP_ERROR] = AJ_EXIT_SETUP,
	};
	if (result->status == AJ_STATUS_SIGNAL)
		return AJ_EXIT_SIGNAL + (result->signal ? result->signal : SIGINT);
	return codes[result->status];
}

/* A result reports all changes to held places since the jail began; each is shown once. */
static void show_workspace(struct aj_shell *shell, const json_t *doc)
{
	json_t *now = json_object_get(doc, "workspace");
	aj_show_workspace(stderr, now, shell->workspace);
	json_decref(shell->workspace);
	shell->workspace = json_incref(now);
}

static void show_result(struct aj_shell *shell, agentjail_result *result)
{
	struct aj_show *s = &shell->show;
	const json_t *doc = aj_lib_result_tree(result);
	if (shell->json) {
		/* Plain ASCII to a terminal: some terminals interpret C1 control characters. */
		s->failed |= json_dumpf(doc, stdout, JSON_COMPACT | (s->terminal[1] ? JSON_ENSURE_ASCII : 0)) < 0;
		putchar('\n');
		s->failed |= fflush(stdout) != 0;
		return;
	}
	if (!shell->person) {
		aj_show_stream(1, text_of(doc, "stdout"), json_string_length(json_object_get(doc, "stdout")), s);
		aj_show_stream(2, text_of(doc, "stderr"), json_string_length(json_object_get(doc, "stderr")), s);
	}
	aj_show_stream_end(s);
	if (shell->person && s->last != '\n')
		aj_show_stream(1, "\n", 1, s);
	aj_show_claim(s, doc, result->status, text_of(doc, "reason"));
	if (result->status != AJ_STATUS_OK) {
		aj_show_violations(stderr, json_object_get(doc, "violations"));
		aj_show_hint(stderr, json_string_value(json_object_get(doc, "hint")));
	}
	show_workspace(shell, doc);
}

static void on_output(void *arg, int number, const char *data, size_t bytes)
{
	aj_show_stream(number, data, bytes, arg);
}

/* Wait for an event of the jail, or for the terminal to take output. Returns -1 with err. */
static int wait_event(struct aj_shell *shell, struct agentjail_error *err)
{
	struct pollfd fds[] = { { .fd = agentjail_fd(shell->handle), .events = POLLIN }, { .fd = -1, .events = POLLOUT } };
	bool all_shown = aj_show_flush(&shell->show, &fds[1].fd);
	if (!all_shown && poll(fds, 2, agentjail_due_ms(shell->handle)) < 0)
		return 0; /* SIGINT: our caller counts them */
	shell->show.watching = true;
	int r = agentjail_turn(shell->handle, all_shown ? -1 : 0, err);
	shell->show.watching = false;
	return r;
}

/* Write all kept output before the result is shown. Meanwhile agentjail_turn() keeps the idle jail's deadlines. */
static void show_all(struct aj_shell *shell)
{
	struct agentjail_error err;
	sig_atomic_t before = aj_shell_interrupts;
	int fd;
	while (!aj_show_flush(&shell->show, &fd) && aj_shell_interrupts - before < INTERRUPTS && wait_event(shell, &err) == 0)
		;
}

bool aj_shell_need_session(struct aj_shell *shell)
{
	struct agentjail_error err;
	if (shell->session)
		return true;
	shell->unseeded = true;
	if (!(shell->session = agentjail_session_open(shell->handle, NULL, &err)))
		aj_shell_print_error(shell, &err);
	return shell->session;
}

/* NULL: the snippet did not run, and the error was printed; or SIGINTs ended the session. */
static agentjail_result *run_snippet(struct aj_shell *shell, const char *code, size_t bytes)
{
	struct agentjail_error err;
	struct agentjail_snippet snippet = {
		.size = sizeof snippet, .code = code, .code_bytes = bytes, .value_of_statement = shell->value_of_statement
	};
	if (shell->person && !shell->json) {
		snippet.output = on_output;
		snippet.output_arg = &shell->show;
	}
	if (!aj_shell_need_session(shell))
		return NULL;
	snippet.seed = shell->unseeded && shell->seeded ? &shell->seed : NULL;
	shell->unseeded = false;
	sig_atomic_t before = aj_shell_interrupts;
	if (agentjail_session_start(shell->session, &snippet, &err) < 0) {
		aj_shell_print_error(shell, &err);
		return NULL;
	}
	running = shell->session;
	if (aj_shell_interrupts != before) /* SIGINT came before `running` was set, so the handler interrupted nothing */
		agentjail_interrupt(running);
	while (agentjail_session_busy(shell->session) && aj_shell_interrupts - before < INTERRUPTS &&
	       wait_event(shell, &err) == 0)
		;
	running = NULL;
	show_all(shell);
	if (agentjail_session_busy(shell->session)) {
		aj_shell_renew(shell);
		fprintf(stderr,
		        "\nagentjail: the snippet did not stop, so its jail was ended; the next snippet has new variables\n");
		shell->code = AJ_EXIT_SIGNAL + SIGINT;
		return NULL;
	}
	agentjail_result *result = agentjail_session_take(shell->session, &err);
	if (!result)
		aj_shell_print_error(shell, &err);
	return result;
}

bool aj_shell_run(struct aj_shell *shell, const char *code, size_t bytes)
{
	sig_atomic_t before = aj_shell_interrupts;
	shell->show.last = '\n';
	agentjail_result *result = run_snippet(shell, code, bytes);
	bool interrupted = aj_shell_interrupts != before;
	if (result) {
		shell->code = shell->code ? shell->code : exit_code_of(result);
		show_result(shell, result);
		agentjail_result_free(result);
	}
	aj_shell_notice_end(shell);
	return shell->person || (shell->session && !interrupted);
}

void aj_shell_vars(struct aj_shell *shell)
{
	struct agentjail_error err;
	agentjail_result *result = NULL;
	const json_t *row;
	size_t i;
	if (!shell->session)
		return; /* no jail, no variables */
	running = shell->session;
	result = agentjail_session_vars(shell->session, &err);
	running = NULL;
	if (!result) {
		aj_shell_print_error(shell, &err);
		return;
	}
	const json_t *doc = aj_lib_result_tree(result);
	json_array_foreach(json_object_get(doc, "value"), i, row) {
		static const char *const columns[] = { "name", "type", "repr" };
		for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
			const char *text = text_of(row, columns[c]);
			aj_show_stream(1, text, strcspn(text, "\n"), &shell->show);
			aj_show_stream(1, c == 2 ? "\n" : "  ", c == 2 ? 1 : 2, &shell->show);
		}
	}
	aj_show_stream_end(&shell->show);
	if (result->status != AJ_STATUS_OK)
		aj_show_claim(&shell->show, doc, result->status, text_of(doc, "reason"));
	show_all(shell);
	agentjail_result_free(result);
	aj_shell_notice_end(shell);
}

void aj_shell_renew(struct aj_shell *shell)
{
	agentjail_session_close(shell->session);
	shell->session = NULL;
}

void aj_shell_notice_end(struct aj_shell *shell)
{
	if (!shell->session || agentjail_session_alive(shell->session))
		return;
	aj_shell_renew(shell);
	if (shell->person)
		fprintf(stderr, "agentjail: the jail has ended; the next snippet has new variables\n");
}

void aj_shell_close(struct aj_shell *shell)
{
	aj_shell_renew(shell);
	agentjail_close(shell->handle);
	aj_show_close(&shell->show);
	json_decref(shell->workspace);
}
