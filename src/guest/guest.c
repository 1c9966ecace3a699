/* The runner of a snippet: preloaded into the rootfs' Python, it takes over before Python's own main(), loads the
 * trusted layer, installs the filter, and only then asks for the code. It never reads a byte of the code before the
 * filter stands, takes no option and no environment, and links no Python: the interpreter's symbols are looked up.
 *
 * Control socket (fd 3): filter, module names  ->  armed  ->  request  ->  result. See base/frame.h. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#include "base/fd.h"
#include "base/frame.h"
#include "sandbox/seccomp.h"

enum { CONTROL_FD = 3, MAX_BODY = 256 << 20, EXIT_BROKEN = 125 };

typedef struct object object;
typedef int main_fn(int, char **, char **);

/* The stable part of Python's C interface that is used; resolved in load_symbols(). */
static void (*py_initialize)(int);
static object *(*py_import)(const char *);
static object *(*py_getattr)(object *, const char *);
static object *(*py_bytes)(const char *, ssize_t);
static object *(*py_call)(object *, ...);
static int (*py_bytes_get)(object *, char **, ssize_t *);
static void (*py_clear)(void);
static void (*py_print)(void);
static const char *(*py_version)(void);
static int (*py_gc)(void);
static int (*py_gc_off)(void);

static const struct {
	const char *name;
	void *slot;
} symbols[] = {
	{ "Py_InitializeEx", &py_initialize },
	{ "PyImport_ImportModule", &py_import },
	{ "PyObject_GetAttrString", &py_getattr },
	{ "PyBytes_FromStringAndSize", &py_bytes },
	{ "PyObject_CallFunctionObjArgs", &py_call },
	{ "PyBytes_AsStringAndSize", &py_bytes_get },
	{ "PyErr_Clear", &py_clear },
	{ "PyErr_Print", &py_print },
	{ "Py_GetVersion", &py_version },
	{ "PyGC_Enable", &py_gc },
	{ "PyGC_Disable", &py_gc_off },
};

/* As `python3 -I -S -B -X utf8`: no site, no environment, no user folder, no bytecode written. */
static const struct {
	const char *name;
	int value;
} flags[] = {
	{ "Py_IsolatedFlag", 1 },        { "Py_IgnoreEnvironmentFlag", 1 }, { "Py_NoSiteFlag", 1 },
	{ "Py_NoUserSiteDirectory", 1 }, { "Py_DontWriteBytecodeFlag", 1 }, { "Py_UTF8Mode", 1 },
	{ "Py_UnbufferedStdioFlag", 0 },
};

static void send_frame(uint8_t kind, const void *body, size_t bytes)
{
	unsigned char header[AJ_FRAME_HEADER];
	aj_frame_header(header, (uint32_t)bytes, kind);
	if (aj_write_all(CONTROL_FD, header, sizeof header) < 0 || aj_write_all(CONTROL_FD, body, bytes) < 0)
		_exit(EXIT_BROKEN);
}

static _Noreturn void broken(const char *what)
{
	char text[200];
	int n = snprintf(text, sizeof text, "%s", what);
	send_frame(AJ_FRAME_FAILED, text, (size_t)n);
	_exit(EXIT_BROKEN);
}

/* The body of the next frame, malloced and NUL-terminated, which must be of that kind. */
static char *take_frame(uint8_t kind, size_t *ret_bytes)
{
	struct aj_frame_reader reader = { .cap_bytes = MAX_BODY };
	unsigned char header[AJ_FRAME_HEADER];
	bool done;
	if (aj_read_all(CONTROL_FD, header, sizeof header) < 0)
		_exit(EXIT_BROKEN); /* the supervisor is gone */
	if (header[4] != kind || aj_frame_feed(&reader, (char *)header, sizeof header, &done) < 0 ||
	    aj_read_all(CONTROL_FD, reader.body, reader.body_bytes) < 0)
		_exit(EXIT_BROKEN);
	*ret_bytes = reader.body_bytes;
	return reader.body;
}

static void load_symbols(void)
{
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *found = dlsym(RTLD_DEFAULT, symbols[i].name);
		if (!found) {
			char text[128];
			snprintf(text, sizeof text, "this Python does not export %s", symbols[i].name);
			broken(text);
		}
		memcpy(symbols[i].slot, &found, sizeof found);
	}
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		int *flag = dlsym(RTLD_DEFAULT, flags[i].name);
		if (!flag)
			broken("this Python lacks the flags for isolated mode");
		*flag = flags[i].value;
	}
}

/* Where the rootfs keeps the library. Told in advance, Python does not have to search; the call left in 3.13, and
 * without it the search from /usr/bin/python3 ends at the same place. */
static void set_path(void)
{
	void (*py_set_path)(const wchar_t *);
	void *found = dlsym(RTLD_DEFAULT, "Py_SetPath");
	int major = 0, minor = 0;
	if (!found || sscanf(py_version(), "%d.%d", &major, &minor) != 2)
		return;
	memcpy(&py_set_path, &found, sizeof found);
	wchar_t path[256];
	swprintf(path, sizeof path / sizeof *path,
	         L"/usr/lib/python%d.%d:/usr/lib/python%d.%d/lib-dynload:/usr/lib/python3/dist-packages", major, minor, major, minor);
	py_set_path(path);
}

static void preload(char *names)
{
	for (char *save = NULL, *name = strtok_r(names, "\n", &save); name; name = strtok_r(NULL, "\n", &save))
		if (!py_import(name))
			py_clear(); /* the snippet's own import will say why */
}

static int runner_main(int argc, char **argv, char **env)
{
	(void)argc, (void)argv, (void)env;
	unsetenv("LD_PRELOAD");
	size_t filter_bytes, names_bytes, request_bytes;
	char *insns = take_frame(AJ_FRAME_FILTER, &filter_bytes), *names = take_frame(AJ_FRAME_PRELOAD, &names_bytes);
	load_symbols();
	set_path();
	py_initialize(0);
	py_gc_off(); /* nothing that loads now is garbage */
	object *layer = py_import("agentjail.main");
	object *run = layer ? py_getattr(layer, "run") : NULL;
	if (!run) {
		py_print();
		broken("the Python layer cannot be loaded");
	}
	preload(names);
	struct aj_error err = { 0 };
	unsigned char listener[AJ_FRAME_HEADER];
	aj_frame_header(listener, 0, AJ_FRAME_LISTENER);
	struct aj_filter filter = { (const struct sock_filter *)insns, (unsigned short)(filter_bytes / sizeof(struct sock_filter)) };
	if (aj_filter_install_reported(&filter, false, CONTROL_FD, listener, sizeof listener, &err) < 0)
		broken("the system call filter cannot be installed");
	py_gc();
	send_frame(AJ_FRAME_ARMED, "", 0);

	char *request = take_frame(AJ_FRAME_REQUEST, &request_bytes);
	/* The layer itself writes this, between check and code. */
	unsigned char started[AJ_FRAME_HEADER];
	aj_frame_header(started, 0, AJ_FRAME_STARTED);
	object *claim = py_call(run, py_bytes(request, (ssize_t)request_bytes), py_bytes((char *)started, sizeof started), NULL);
	char *text;
	ssize_t bytes;
	if (!claim || py_bytes_get(claim, &text, &bytes) < 0) {
		py_print();
		_exit(EXIT_BROKEN);
	}
	send_frame(AJ_FRAME_RESULT, text, (size_t)bytes);
	_exit(0);
}

/* Python takes memory in arenas of 1 MiB. The first two come from one huge page where the kernel has one to give: one page
 * fault instead of some 300, and as many pages less to free at the end, is a third of a millisecond. */
static void *first_arenas(void)
{
	const size_t huge_bytes = 2 << 20;
	char *room = mmap(NULL, 2 * huge_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return NULL;
	char *aligned = (char *)(((uintptr_t)room + huge_bytes - 1) & ~(huge_bytes - 1));
	madvise(aligned, huge_bytes, MADV_HUGEPAGE); /* a wish: without it the memory is as good */
	return aligned;
}

__attribute__((visibility("default"))) void *mmap64(void *addr, size_t bytes, int protection, int how, int fd, off64_t offset);
void *mmap64(void *addr, size_t bytes, int protection, int how, int fd, off64_t offset)
{
	enum { ARENA = 1 << 20, READ_WRITE = PROT_READ | PROT_WRITE, PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS };
	static char *arenas; /* set by the first call, when there are no threads yet */
	static int taken;
	if (bytes == ARENA && !addr && fd == -1 && protection == READ_WRITE && how == PRIVATE) {
		int mine = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
		if (mine == 0)
			arenas = first_arenas();
		if (mine < 2 && arenas)
			return arenas + (ptrdiff_t)ARENA * mine;
	}
	return (void *)syscall(SYS_mmap, addr, bytes, protection, how, fd, offset);
}

/* libc's entry calls this with Python's main; ours goes in its place. */
__attribute__((visibility("default"))) int __libc_start_main(main_fn *main, int argc, char **argv, main_fn *init,
                                                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(main_fn *main, int argc, char **argv, main_fn *init, void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	int (*real)(main_fn *, int, char **, main_fn *, void (*)(void), void (*)(void), void *);
	void *found = dlsym(RTLD_NEXT, "__libc_start_main");
	(void)main;
	if (!found)
		_exit(EXIT_BROKEN);
	memcpy(&real, &found, sizeof found);
	return real(runner_main, argc, argv, init, fini, rtld_fini, stack_end);
}
