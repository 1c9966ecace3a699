/* The relay's own resolution of names, by c-ares in the relay's loop: once for a name and its time to live, as the host resolves
 * it (/etc/hosts, search domains, resolv.conf). Each address is checked when it arrives. */
#pragma once
#include "base/loop/loop.h"
#include "network/resolve/names.h"

struct aj_name_waiter {
	void (*fn)(struct aj_name_waiter *waiter);
	void *arg;
	struct aj_name *name; /* waited for; NULL: none */
	struct aj_name_waiter *next;
};

struct aj_resolver;

struct aj_resolver *aj_resolver_new(struct aj_loop *loop); /* NULL: no memory */
/* True: the name is resolved (name->failed, name->addresses) until control returns to the loop. Else `waiter` is called later. */
bool aj_resolver_ask(struct aj_resolver *resolver, struct aj_name *name, struct aj_name_waiter *waiter);
void aj_resolver_forget(struct aj_name_waiter *waiter);
