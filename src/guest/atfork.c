/* Runs the atfork handlers of libraries and of Python around a fork that is not libc's own.
 * It makes no process, and stores only the registered handlers. */
#include "guest/atfork.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "guest/python.h"

enum { HANDLERS_MAX = 64 };

/* Libraries with threads or random generators register atfork handlers with libc; the runner forks without libc, so it records
 * the handlers and runs them itself. */
static struct {
	void (*prepare)(void), (*parent)(void), (*child)(void);
} handlers[HANDLERS_MAX];
static size_t handler_count;

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library);
__attribute__((visibility("default"))) int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                                                             void *library)
{
	static int (*real)(void (*)(void), void (*)(void), void (*)(void), void *);
	if (handler_count == HANDLERS_MAX)
		return ENOMEM;
	handlers[handler_count].prepare = prepare;
	handlers[handler_count].parent = parent;
	handlers[handler_count++].child = child;
	if (!real) {
		void *found = aj_python_next("__register_atfork");
		memcpy(&real, &found, sizeof found);
	}
	return real ? real(prepare, parent, child, library) : 0;
}

void aj_atfork_before(void)
{
	aj_python_before_fork();
	for (size_t i = handler_count; i-- > 0;)
		if (handlers[i].prepare)
			handlers[i].prepare();
}

void aj_atfork_after(bool child)
{
	for (size_t i = 0; i < handler_count; i++) {
		void (*handler)(void) = child ? handlers[i].child : handlers[i].parent;
		if (handler)
			handler();
	}
	aj_python_after_fork(child);
}
