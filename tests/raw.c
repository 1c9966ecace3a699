/* A Python module with one function, call(number, ...): a system call as it is, for tests of what a hostile session does.
 * Without Python's headers, as the runner is; layout and names are those of its stable interface. */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

typedef struct object object;
typedef long ssize;

object *PyLong_FromLong(long value);
unsigned long PyLong_AsUnsignedLongMask(object *value);
object *PyModule_Create2(void *definition, int version);
ssize PyTuple_Size(object *tuple);
object *PyTuple_GetItem(object *tuple, ssize index);

/* The answer, or the negative errno. */
static object *call(object *self, object *args)
{
	unsigned long a[7] = { 0 };
	(void)self;
	for (ssize i = 0; i < PyTuple_Size(args) && i < 7; i++)
		a[i] = PyLong_AsUnsignedLongMask(PyTuple_GetItem(args, i));
	long r = syscall((long)a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
	return PyLong_FromLong(r < 0 ? -errno : r);
}

struct method {
	const char *name;
	object *(*function)(object *, object *);
	int how;
	const char *doc;
};
static struct method methods[] = { { "call", call, 1, NULL }, { NULL, NULL, 0, NULL } };
static struct {
	ssize references;
	void *type, *init;
	ssize index;
	void *copy;
	const char *name, *doc;
	ssize bytes;
	struct method *methods;
	void *rest[4];
} definition = { .references = 1, .name = "raw", .bytes = -1, .methods = methods };

object *PyInit_raw(void);
object *PyInit_raw(void)
{
	return PyModule_Create2(&definition, 1013);
}
