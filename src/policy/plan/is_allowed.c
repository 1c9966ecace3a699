/* Answers questions about a policy: hosts, modules, system calls, and the mount row of a path.
 * It tries nothing and reads no file; tests/e2e/explain.sh checks its answers in real jails. */
#include "policy/plan/is_allowed.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "policy/seccomp/syscalls.h"

static struct aj_answer answer(enum aj_answer_verdict verdict, const char *key, enum aj_enforcer by, const char *why)
{
	return (struct aj_answer){ .verdict = verdict, .why = why, .key = key, .item = AJ_NO_ITEM, .by = by };
}

/* --- paths --- */

static const enum aj_path_match_kind kinds[] = {
	[AJ_MOUNT_TMPFS] = AJ_MATCH_SCRATCH, [AJ_MOUNT_BIND] = AJ_MATCH_HOST,    [AJ_MOUNT_PROC] = AJ_MATCH_KERNEL,
	[AJ_MOUNT_DEVPTS] = AJ_MATCH_KERNEL, [AJ_MOUNT_SYMLINK] = AJ_MATCH_LINK, [AJ_MOUNT_FILE] = AJ_MATCH_TEXT,
	[AJ_MOUNT_MASK] = AJ_MATCH_MASK,
};

struct aj_path_match aj_plan_match_path(const struct aj_plan *plan, const char *path)
{
	struct aj_path_match place = { .kind = AJ_MATCH_NONE, .rest = "" };
	for (size_t i = 0; i < plan->mounts.count; i++) {
		const struct aj_mount *row = &plan->mounts.items[i];
		const char *rest = aj_path_rest(path, row->target);
		/* A later row covers earlier ones, and everything below its target. */
		if (rest) {
			place = (struct aj_path_match){ row->flags & AJ_MASK ? AJ_MATCH_MASK : kinds[row->kind], row, rest };
		} else if (!place.row && aj_path_within(row->target, path)) {
			place.kind = AJ_MATCH_FOLDER;
		}
	}
	return place;
}

const char *aj_plan_masked_programs(const struct aj_plan *plan)
{
	for (size_t i = 0; i < plan->mounts.count; i++)
		if (plan->mounts.items[i].kind == AJ_MOUNT_MASK && strncmp(plan->mounts.items[i].target, "/usr/", 5) == 0)
			return plan->mounts.items[i].target;
	return NULL;
}

/* --- hosts --- */

static size_t name_bytes(const char *host_port)
{
	return (size_t)(strrchr(host_port, ':') - host_port);
}

bool aj_host_question_valid(const char *text)
{
	const char *colon = strrchr(text, ':');
	if (!colon || colon == text || !isdigit((unsigned char)colon[1]) || strlen(text) > 300)
		return false;
	char *end;
	unsigned long port = strtoul(colon + 1, &end, 10);
	if (*end || port < 1 || port > 65535)
		return false;
	bool bracket = text[0] == '[';
	for (const char *c = text; c < colon; c++) {
		bool edge = bracket && ((c == text && *c == '[') || (c == colon - 1 && *c == ']'));
		if (!edge && !(isalnum((unsigned char)*c) || *c == '.' || *c == '-' || (bracket && *c == ':')))
			return false;
	}
	return !bracket || (colon - text > 3 && colon[-1] == ']');
}

static bool is_name(const char *host_port, const char *name)
{
	return name_bytes(host_port) == strlen(name) && strncasecmp(host_port, name, strlen(name)) == 0;
}

static bool numeric(const char *host_port)
{
	return host_port[0] == '[' || strspn(host_port, "0123456789.") == name_bytes(host_port);
}

static const char own_loopback_why[] = "the jail's own loopback, for servers in the jail; the host's loopback is `host:PORT`";

/* The jail's own loopback: the names in its /etc/hosts, 127.0.0.0/8, and the addresses that stand for "this host". */
static bool own_loopback(const char *host_port)
{
	return is_name(host_port, "localhost") || is_name(host_port, "jail") || is_name(host_port, "[::1]") ||
	       is_name(host_port, "[::]") || is_name(host_port, "0.0.0.0") ||
	       (numeric(host_port) && strncmp(host_port, "127.", 4) == 0);
}

/* The first rule that covers the host decides. Whether a name's address is public is known only when it is resolved. */
static struct aj_answer by_list(const struct aj_policy *policy, const char *host, struct aj_arena *arena)
{
	/* No packet to these leaves the jail, whatever the list says. */
	if (own_loopback(host))
		return answer(AJ_ALLOWED, "network.mode", AJ_BY_NAMESPACE, own_loopback_why);
	const bool loopback = aj_host_covers(aj_printf(arena, "host:%s", strrchr(host, ':') + 1), host);
	struct aj_answer a = answer(AJ_DENIED, "network.allow", AJ_BY_SUPERVISOR, "no item of the list covers this host");
	for (size_t i = 0; i < policy->allow.count && a.verdict == AJ_DENIED; i++)
		if (aj_host_covers(policy->allow.items[i], host)) {
			a.verdict = AJ_ALLOWED;
			a.item = i;
			a.why = loopback      ? "the list allows this port of the host's own loopback"
			      : numeric(host) ? "the list writes this address out"
			                      : "the list allows this host, where its address is public or written out";
		}
	if (a.verdict == AJ_DENIED && numeric(host))
		a.why = "an address that no item of the list writes out";
	else if (a.verdict == AJ_DENIED && loopback)
		a.why = "a port of the host's own loopback that is not on the list";
	else if (a.verdict == AJ_DENIED && policy->ask) {
		a.verdict = AJ_ASKED;
		a.why = "no item of the list covers this host: a run would ask whether to allow it (network.ask), and refuse it where nobody can be asked";
	}
	return a;
}

struct aj_answer aj_answer_host(const struct aj_plan *plan, const struct aj_policy *policy, const char *host,
                                struct aj_arena *arena)
{
	if (aj_profile_is_pure(plan->profile))
		return answer(AJ_DENIED, "process.exec", AJ_BY_SECCOMP,
		              "a snippet cannot open a socket, whatever the network: the system call list has none");
	if (plan->deny & AJ_DENY_SOCKETS)
		return answer(AJ_DENIED, "process.deny_syscalls", AJ_BY_SECCOMP, "no socket can be opened");
	if (policy->network == AJ_NET_HOST)
		return answer(AJ_ALLOWED, "network.mode", AJ_BY_NOBODY,
		              "the host's own network: every address that the host reaches");
	if (policy->network == AJ_NET_NONE)
		return answer(AJ_DENIED, "network.mode", AJ_BY_NAMESPACE, "a network namespace in which no interface is up");
	if (policy->network == AJ_NET_ALLOW)
		return by_list(policy, host, arena);
	if (own_loopback(host))
		return answer(AJ_ALLOWED, "network.mode", AJ_BY_NAMESPACE, own_loopback_why);
	return answer(AJ_DENIED, "network.mode", AJ_BY_NAMESPACE, "a network namespace with nothing but its own loopback");
}

/* --- modules --- */

struct aj_answer aj_answer_import(const struct aj_policy *policy, const char *module, struct aj_arena *arena)
{
	static const char key[] = "python.imports";
	if (strcmp(policy->rootfs, "host") == 0)
		return answer(AJ_ALLOWED, "filesystem.rootfs", AJ_BY_NOBODY,
		              "commands have no Python layer: every module that the host's Python has");
	if (!policy->layer)
		return answer(AJ_ALLOWED, "python.layer", AJ_BY_NOBODY,
		              "the Python layer is off: every module that the tree has");
	/* As class AllowedImports of guest/layer/check/allowed_imports.py does: tests/unit/policy/imports.h asks both. */
	if (aj_import_covers("agentjail.*", module))
		return answer(AJ_DENIED, NULL, AJ_BY_RAIL, "the layer itself, which no policy lets a snippet import");
	if (strcmp(module, "__future__") == 0)
		return answer(AJ_ALLOWED, NULL, AJ_BY_RAIL, "a part of the language");
	size_t bytes = strlen(module);
	bool way = false;
	for (size_t i = 0; i < policy->imports.count; i++) {
		const char *pattern = policy->imports.items[i];
		if (aj_import_covers(pattern, module)) {
			const char *why = aj_printf(arena, "`%s` is in the list", pattern);
			struct aj_answer a = answer(AJ_ALLOWED, key, AJ_BY_RAIL, why);
			a.item = i;
			return a;
		}
		way |= strncmp(pattern, module, bytes) == 0 && pattern[bytes] == '.';
	}
	const char *why = way ? "not in the list: only modules below it are" : "not in the list";
	for (size_t i = 0; i < policy->request_imports.count; i++)
		if (aj_import_covers(policy->request_imports.items[i], module))
			why = aj_printf(arena, "not in the list; a request may ask for `%s` (requests.imports)",
			                policy->request_imports.items[i]);
	return answer(AJ_DENIED, key, AJ_BY_RAIL, why);
}

/* --- system calls --- */

struct call {
	struct aj_arena *arena;
	const char *name;
	bool listed, open, refused; /* rows without a condition: open, or refused unless a condition matches */
	int errnum;
	const char *conditions, *exceptions, *why;
	AJ_LIST(const struct aj_syscall *) refusals; /* the rows behind `exceptions` */
	const struct aj_syscall *otherwise;          /* refuses calls that match no condition */
};

static const char *condition_text(const struct aj_syscall *row, struct aj_arena *arena)
{
	const char *text = "";
	for (int i = 0; i < AJ_SYSCALL_ARGS; i++)
		if (row->arg[i].mask)
			text = aj_printf(arena, "%s%sargument %d & %#lx is %#lx", text, *text ? " and " : "",
			                 row->arg[i].index + 1, row->arg[i].mask, row->arg[i].value);
	return *row->why ? aj_printf(arena, "%s (%s)", text, row->why) : text;
}

static int add_row(const struct aj_syscall *row, void *data)
{
	struct call *c = data;
	bool conditional = row->arg[0].mask || row->arg[1].mask;
	if (strcmp(row->name, c->name) != 0)
		return 0;
	c->listed = true;
	if (!conditional) {
		*(row->errnum ? &c->refused : &c->open) = true;
		c->otherwise = row->errnum > 0 ? row : NULL;
		c->errnum = row->errnum;
		c->why = row->why;
		return 0;
	}
	const char **list = row->errnum > 0 ? &c->exceptions : &c->conditions;
	*list = aj_printf(c->arena, "%s%s%s%s", *list ? *list : "", *list ? ", or " : "", condition_text(row, c->arena),
	                  row->errnum == AJ_ERRNO_NONE ? ", which returns 0 and is not made" : "");
	if (row->errnum > 0) {
		c->errnum = row->errnum;
		c->why = row->why;
		*AJ_PUSH(c->arena, &c->refusals) = row;
	}
	return 0;
}

static const char *error_name(int errnum)
{
	const char *name = strerrorname_np(errnum);
	return name ? name : "an error";
}

/* Two refusals that together exclude every argument: one refuses a bit set, the other clear. */
static bool refuses_all(const struct call *c)
{
	for (size_t i = 0; i < c->refusals.count; i++)
		for (size_t j = 0; j < i; j++) {
			const struct aj_syscall *a = c->refusals.items[i], *b = c->refusals.items[j];
			bool one_bit = !a->arg[1].mask && !b->arg[1].mask && !(a->arg[0].mask & (a->arg[0].mask - 1));
			if (one_bit && a->arg[0].index == b->arg[0].index &&
			    (a->arg[0].value ^ b->arg[0].value) == a->arg[0].mask && a->arg[0].mask == b->arg[0].mask)
				return true;
		}
	return false;
}

/* A denied group overrides every allow-list. */
static bool denied_by_group(struct call *c, const struct aj_plan *plan, struct aj_answer *ret)
{
	for (int i = 0; i < AJ_FILTER_GROUPS; i++) {
		uint64_t group = (uint64_t)1 << i;
		struct call denied = { .arena = c->arena, .name = c->name };
		if (!(plan->deny & group) || (i >= AJ_DENY_GROUPS && group != AJ_DENY_PTRACE))
			continue;
		aj_syscalls_denied_each(group, add_row, &denied);
		if (!denied.listed)
			continue;
		ret->key = group == AJ_DENY_FORK   ? "process.fork"
		         : group == AJ_DENY_PTRACE ? "process.ptrace"
		                                   : "process.deny_syscalls";
		if (denied.refused) {
			ret->verdict = AJ_DENIED;
			ret->why = aj_printf(c->arena, "%s: the policy denies the group `%s` (%s)", error_name(denied.errnum),
			                     aj_deny_name(group), denied.why);
			return true;
		}
		c->exceptions = aj_printf(c->arena, "%s%s%s", c->exceptions ? c->exceptions : "", c->exceptions ? ", or " : "",
		                          denied.exceptions);
		for (size_t j = 0; j < denied.refusals.count; j++)
			*AJ_PUSH(c->arena, &c->refusals) = denied.refusals.items[j];
		c->errnum = denied.errnum;
	}
	if (!refuses_all(c))
		return false;
	ret->verdict = AJ_DENIED;
	ret->why = aj_printf(c->arena, "%s: refused where %s", error_name(c->errnum), c->exceptions);
	return true;
}

/* Why the filter answers this call with success in the kernel's place, whatever its arguments; NULL: it does not. */
static const char *why_not_made(const struct call *c, const struct aj_plan *plan)
{
	for (int i = 0; i < AJ_FILTER_GROUPS; i++) {
		uint64_t group = (uint64_t)1 << i;
		struct call answered = { .arena = c->arena, .name = c->name };
		if (!(plan->deny & AJ_ANSWERED & group))
			continue;
		aj_syscalls_denied_each(group, add_row, &answered);
		if (answered.refused)
			return answered.why;
	}
	return NULL;
}

struct aj_answer aj_answer_syscall(const struct aj_plan *plan, const struct aj_policy *policy, const char *name,
                                   struct aj_arena *arena)
{
	struct call c = { .arena = arena, .name = name };
	struct aj_answer a = answer(AJ_DENIED, "process.exec", AJ_BY_SECCOMP, "");
	const char *list = aj_profile_name(plan->profile);
	aj_syscalls_each(plan->profile, policy->network, add_row, &c);
	if (!c.open && !c.conditions) {
		a.why = c.listed ? aj_printf(arena, "%s: %s", error_name(c.errnum), c.why && *c.why ? c.why : "refused")
		                 : aj_printf(arena, "ENOSYS: not in the list `%s`", list);
		return a;
	}
	if (denied_by_group(&c, plan, &a))
		return a;
	a.verdict = AJ_ALLOWED;
	a.why = c.open ? aj_printf(arena, "in the list `%s`%s%s", list, c.why && *c.why ? ": " : "", c.why ? c.why : "")
	               : aj_printf(arena, "in the list `%s` only where %s", list, c.conditions);
	if (c.exceptions)
		a.why = aj_printf(arena, "%s; refused where %s", a.why, c.exceptions);
	if (c.otherwise)
		a.why = aj_printf(arena, "%s; otherwise %s (%s)", a.why, error_name(c.otherwise->errnum), c.otherwise->why);
	const char *not_made = why_not_made(&c, plan);
	if (not_made)
		a.why = aj_printf(arena, "%s; the call is not made and returns 0: %s", a.why, not_made);
	return a;
}
