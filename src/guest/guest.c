/* The runner of a snippet: preloaded into the rootfs' Python, it takes over before Python's own main(), loads the
 * trusted layer, installs the filter, and only then reads the code. It never reads a byte of the code before the
 * filter stands, takes no option and no environment, and links no Python: the interpreter's symbols are looked up.
 *
 * Control socket (fd 3): [plan | session, policy,] filter, module names  ->  armed  ->  request  ->  result  ->  request ...
 * With a plan the runner becomes a zygote: it loads everything, and the jails born from it continue with the filter. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/frame.h"
#include "guest/birth.h"
#include "guest/branch.h"
#include "guest/holes.h"
#include "guest/huge.h"
#include "guest/plain_code.h"
#include "guest/plain_request.h"
#include "guest/prefault.h"
#include "guest/python.h"
#include "guest/zygote.h"
#include "policy/seccomp/compile.h"

enum { CONTROL_FD = 3, MAX_BODY = 256 << 20, EXIT_BROKEN = 125 };

typedef int main_fn(int, char **, char **);

/* In one write if the frame is small: the supervisor wakes up once. */
static void send_frame_after(const char *first, size_t first_bytes, uint8_t kind, const void *body, size_t bytes)
{
	static char piece[32 << 10];
	size_t used = AJ_FRAME_HEADER + first_bytes, along = bytes <= sizeof piece - used ? bytes : 0;
	aj_frame_header((unsigned char *)piece, (uint32_t)(first_bytes + bytes), kind);
	memcpy(piece + AJ_FRAME_HEADER, first, first_bytes);
	memcpy(piece + used, body, along);
	bool failed = aj_write_all(CONTROL_FD, piece, used + along) < 0;
	if (failed || aj_write_all(CONTROL_FD, (const char *)body + along, bytes - along) < 0)
		_exit(EXIT_BROKEN);
}

static void send_frame(uint8_t kind, const void *body, size_t bytes)
{
	send_frame_after("", 0, kind, body, bytes);
}

/* The Python tree does not match this runner. */
static _Noreturn void exit_broken(const char *what)
{
	send_frame(AJ_FRAME_FAILED, what, strlen(what));
	_exit(EXIT_BROKEN);
}

/* The kernel refused a wall. */
static _Noreturn void exit_refused(const char *what, int errnum)
{
	char text[200];
	int n = snprintf(text, sizeof text, errnum ? "%s: %s" : "%s", what, strerror(errnum));
	send_frame(AJ_FRAME_REFUSED, text, (size_t)n);
	_exit(EXIT_BROKEN);
}

struct frame {
	uint8_t kind;
	char *body; /* malloced, NUL-terminated */
	size_t bytes;
};

/* Read the next frame, which must be of one of these kinds. Without one the process exits: the supervisor is gone. */
static struct frame read_frame(const char *kinds)
{
	unsigned char header[AJ_FRAME_HEADER];
	errno = 0;
	if (aj_read_all(CONTROL_FD, header, sizeof header) < 0)
		_exit(errno == EPIPE ? 0 : EXIT_BROKEN);
	uint8_t kind = header[AJ_FRAME_LENGTH];
	size_t bytes = aj_frame_length(header) - 1;
	char *body = bytes <= MAX_BODY ? malloc(bytes + 1) : NULL;
	if (!kind || !strchr(kinds, kind) || !body || aj_read_all(CONTROL_FD, body, bytes) < 0)
		_exit(EXIT_BROKEN);
	body[bytes] = '\0';
	return (struct frame){ kind, body, bytes };
}

static object *layer_function(const char *module, const char *name)
{
	object *function = aj_python_function(module, name);
	if (!function)
		exit_broken("the Python layer cannot be loaded");
	return function;
}

static void call_layer(const char *module, const char *name, const char *bytes, size_t count)
{
	object *function = layer_function(module, name);
	object *value = aj_python_call(function, bytes, count, NULL, 0);
	if (!value)
		exit_broken("the Python layer cannot be prepared");
	aj_python_release(value);
	aj_python_release(function);
}

/* A failure is left to the snippet's own import, which may fail in another way: no library can be mapped then. So the layer keeps
 * why this import failed. That a module is not there the snippet's import says as well. */
static void import_early(const char *name)
{
	object *error = aj_python_import(name);
	object *note = error ? layer_function("agentjail.runtime.early_imports", "note") : NULL;
	object *text = note ? aj_python_from_bytes(name, strlen(name)) : NULL;
	if (note)
		aj_python_release(aj_python_call_both(note, text, error));
	aj_python_release(text);
	aj_python_release(note);
	aj_python_release(error);
}

static void preload(char *names)
{
	for (char *save = NULL, *name = strtok_r(names, "\n", &save); name; name = strtok_r(NULL, "\n", &save))
		if (strcmp(name, "*") == 0)
			call_layer("agentjail.runtime.zygote", "load_extensions", NULL, 0);
		else
			import_early(name);
}

static object *after_fork, *reseed;

/* A newborn jail makes the layer's state (hash seeds, generators) its own, before its filter is installed. */
static void init_newborn(const struct aj_birth *order)
{
	if (!aj_python_call(after_fork, (const char *)order->entropy, sizeof order->entropy, NULL, 0))
		exit_broken("the Python layer cannot be made this jail's own");
}

/* The layer writes this header itself, between check and execution of the code. */
static object *started_header(void)
{
	unsigned char started[AJ_FRAME_HEADER];
	aj_frame_header(started, 0, AJ_FRAME_STARTED);
	return aj_python_from_bytes((char *)started, sizeof started);
}

/* In a copy of the zygote that is discarded: does what a newborn does before and during its first snippet. */
static void run_trial(const struct aj_birth *order)
{
	char *text;
	ssize_t bytes;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, CONTROL_FD) < 0)
		_exit(EXIT_BROKEN);
	init_newborn(order);
	aj_prefault_born();
	aj_python_collect(1);
	object *request = layer_function("agentjail.runtime.zygote", "FIRST_REQUEST");
	object *claim = aj_python_call_both(layer_function("agentjail.runtime.main", "run"), request, started_header());
	if (claim && aj_python_bytes(claim, &text, &bytes) == 0)
		send_frame(AJ_FRAME_RESULT, text, (size_t)bytes);
	aj_python_release(claim);
}

/* Returns in a newborn jail. */
static void run_zygote(const struct frame *plan, const struct frame *policy, const struct frame *names)
{
	static const char tell[] = { AJ_FRAME_IMPORT, AJ_FRAME_IMPORT_FAILED };
	object *prepare = layer_function("agentjail.runtime.zygote", "prepare");
	object *prepared = aj_python_call(prepare, names->body, names->bytes, tell, sizeof tell);
	if (!prepared)
		exit_broken("the Python layer cannot be prepared");
	aj_python_release(prepared);
	aj_python_release(prepare);
	call_layer("agentjail.runtime.zygote", "set_policy", policy->body, policy->bytes);
	call_layer("agentjail.runtime.signals", "install_handlers", NULL, 0);
	after_fork = layer_function("agentjail.runtime.zygote", "after_fork");
	reseed = layer_function("agentjail.runtime.reseed", "reseed");
	aj_holes_fill();
	aj_huge_collapse();
	const char *missing = aj_zygote_prepare();
	if (missing)
		exit_refused(missing, errno);
	send_frame(AJ_FRAME_READY, "", 0);
	init_newborn(aj_zygote_serve(plan->body, plan->bytes, run_trial));
}

/* Returns in original and branch. Requests that were sent before the branch existed are for the original to answer. */
static void handle_branch(const struct frame *order)
{
	if (!reseed || order->bytes != AJ_ENTROPY_BYTES)
		_exit(EXIT_BROKEN);
	errno = 0;
	pid_t pid = aj_branch();
	if (pid == 0) {
		if (!aj_python_call(reseed, order->body, order->bytes, NULL, 0))
			exit_broken("the Python layer cannot be made this branch's own");
		send_frame(AJ_FRAME_ARMED, "", 0);
		return;
	}
	int32_t error = pid < 0 ? errno : 0;
	send_frame(AJ_FRAME_BRANCH, &error, sizeof error);
}

/* Install the filter, then report it. The listener's descriptor, which the supervisor takes before it sends anything, or -1. */
static int install_filter(const struct frame *insns)
{
	struct aj_error err = { 0 };
	struct aj_filter filter = { (const struct sock_filter *)insns->body,
		                    (unsigned short)(insns->bytes / sizeof(struct sock_filter)) };
	unsigned char answer[2UL * AJ_FRAME_HEADER + sizeof(int32_t)];
	int32_t listener = -1;
	bool reported = insns->kind == AJ_FRAME_REPORTED;
	if ((reported ? aj_filter_install_reported(&filter, &filter, &listener, &err) : aj_filter_install(&filter, &err)) < 0)
		exit_refused("the system call filter cannot be installed", err.errnum);
	aj_python_collect(1);
	aj_frame_header(answer, sizeof listener, AJ_FRAME_LISTENER);
	memcpy(answer + AJ_FRAME_HEADER, &listener, sizeof listener);
	size_t skip = listener < 0 ? AJ_FRAME_HEADER + sizeof listener : 0;
	aj_frame_header(answer + sizeof answer - AJ_FRAME_HEADER, 0, AJ_FRAME_ARMED);
	if (aj_write_all(CONTROL_FD, answer + skip, sizeof answer - skip) < 0)
		_exit(EXIT_BROKEN);
	return listener;
}

/* A request that has its policy with it is never plain. */
static object *run_request(object *run, const char *body, size_t bytes, object *started)
{
	object *request = aj_plain_request(body, bytes);
	if (!request)
		request = aj_python_from_bytes(body, bytes);
	object *claim = aj_python_call_both(run, request, started);
	aj_python_release(request);
	return claim;
}

/* Serve requests until the last one or the end of the channel. */
static _Noreturn void serve_requests(object *run, int listener)
{
	object *started = started_header();
	for (;;) {
		struct frame request = read_frame((char[]){ AJ_FRAME_REQUEST, AJ_FRAME_SNIPPET, AJ_FRAME_TOOL, AJ_FRAME_BRANCH,
		                                            AJ_FRAME_LAYER, 0 });
		aj_close(&listener);
		if (request.kind == AJ_FRAME_BRANCH)
			handle_branch(&request);
		else if (request.kind == AJ_FRAME_LAYER)
			call_layer("agentjail.runtime.main", "choose_layer", request.body, request.bytes);
		/* A tool's answer here is one that no caller waits for any more. */
		if (request.kind != AJ_FRAME_REQUEST && request.kind != AJ_FRAME_SNIPPET) {
			free(request.body);
			continue;
		}
		size_t nonce_bytes = request.kind == AJ_FRAME_SNIPPET ? AJ_NONCE_BYTES : 0;
		if (request.bytes < nonce_bytes)
			_exit(EXIT_BROKEN);
		object *claim = run_request(run, request.body + nonce_bytes, request.bytes - nonce_bytes, started);
		char *text;
		ssize_t bytes;
		if (!claim || aj_python_bytes(claim, &text, &bytes) < 0)
			_exit(EXIT_BROKEN);
		send_frame_after(request.body, nonce_bytes, AJ_FRAME_RESULT, text, (size_t)bytes);
		if (request.kind == AJ_FRAME_REQUEST)
			_exit(0);
		aj_python_release(claim);
		free(request.body);
	}
}

static int runner_main(int argc, char **argv, char **env)
{
	(void)argc, (void)argv, (void)env;
	unsetenv("LD_PRELOAD");
	static const char filters[] = { AJ_FRAME_FILTER, AJ_FRAME_REPORTED, 0 };
	struct frame plan = { 0 }, policy = { 0 };
	struct frame insns = read_frame((char[]){ AJ_FRAME_PLAN, AJ_FRAME_SESSION, AJ_FRAME_FILTER, 0 });
	uint8_t role = insns.kind;
	if (role != AJ_FRAME_FILTER) {
		plan = insns;
		policy = read_frame((char[]){ AJ_FRAME_POLICY, 0 });
		insns = read_frame(filters);
	}
	struct frame names = read_frame((char[]){ AJ_FRAME_PRELOAD, 0 });
	const char *missing = aj_python_find();
	if (missing)
		exit_broken(missing);
	if (role == AJ_FRAME_PLAN)
		aj_huge_all_arenas();
	aj_python_start();
	aj_python_collect(0); /* nothing loaded now is garbage */
	object *run = layer_function("agentjail.runtime.main", "run");
	if ((missing = aj_plain_code_prepare()))
		exit_broken(missing);
	if (role != AJ_FRAME_FILTER && (missing = aj_plain_code_nodes()))
		exit_broken(missing);
	if (role == AJ_FRAME_PLAN) {
		run_zygote(&plan, &policy, &names);
	} else {
		if (role == AJ_FRAME_SESSION)
			call_layer("agentjail.runtime.signals", "install_handlers", NULL, 0);
		if (plan.bytes) {
			aj_birth_tid();
			reseed = layer_function("agentjail.runtime.reseed", "reseed");
		}
		preload(names.body);
		if (role == AJ_FRAME_SESSION)
			call_layer("agentjail.runtime.main", "set_policy", policy.body, policy.bytes);
	}
	int listener = install_filter(&insns);
	aj_prefault_snippet();
	serve_requests(run, listener);
}

/* libc's entry code calls this with Python's main, which the runner's main replaces. */
__attribute__((visibility("default"))) int __libc_start_main(main_fn *main, int argc, char **argv, main_fn *init,
                                                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(main_fn *main, int argc, char **argv, main_fn *init, void (*fini)(void), void (*rtld_fini)(void),
                      void *stack_end)
{
	int (*real)(main_fn *, int, char **, main_fn *, void (*)(void), void (*)(void), void *);
	void *found = dlsym(RTLD_NEXT, "__libc_start_main");
	(void)main;
	if (!found)
		_exit(EXIT_BROKEN);
	memcpy(&real, &found, sizeof found);
	return real(runner_main, argc, argv, init, fini, rtld_fini, stack_end);
}
