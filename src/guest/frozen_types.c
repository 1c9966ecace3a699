/* Makes classes immutable, like CPython's static types: sets Py_TPFLAGS_IMMUTABLETYPE, for which Python has no function.
 * The offset of tp_flags is that of CPython since 3.8, and is checked before use. */
#include "guest/frozen_types.h"

#include <stddef.h>

#include "guest/plain_python.h"

enum { FLAGS_PLACE = 21 /* pointers before tp_flags */ };
static const unsigned long IMMUTABLE = 1UL << 8, HEAP_TYPE = 1UL << 9;

static unsigned long (*flags_of)(object *);

static object *freeze_type(object *self, object *args)
{
	object *type = aj_plain_py.tuple_item(args, 0);
	unsigned long *flags = (unsigned long *)(void *)type + FLAGS_PLACE;
	bool known = type && (flags_of(type) & HEAP_TYPE) && *flags == flags_of(type);
	(void)self;
	if (known)
		*flags |= IMMUTABLE;
	return aj_plain_py.boolean(known && (flags_of(type) & IMMUTABLE));
}

const char *aj_frozen_types_prepare(void)
{
	static const struct aj_python_symbol wanted[] = { { "PyType_GetFlags", &flags_of } };
	const char *missing = aj_python_symbols(wanted, sizeof wanted / sizeof *wanted);
	if (missing)
		return missing;
	return aj_plain_offer(AJ_OFFER_FREEZE_TYPE, freeze_type) < 0 ? "freeze_type" : NULL;
}
