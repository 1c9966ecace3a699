/* Values of a policy that contradict one another are errors, whichever files they come from.
 * It changes no value and looks at no file: of a bind it knows the paths as text. */
#include <string.h>

#include "base/path.h"
#include "policy/bind.h"
#include "policy/load/check.h"
#include "policy/published_ports.h"

static void network(const struct aj_lint *c)
{
	if (c->p->network != AJ_NET_ALLOW && c->p->allow.count) {
		aj_diag_error(c->diags, aj_at(c, "network.allow"), AJ_E_CONTRADICTION,
		              "network.allow names hosts, but network.mode is %s (%s)",
		              aj_key_value(&aj_policy_keys[aj_key_index("network.mode")], c->p, c->diags->arena),
		              aj_origin_text(aj_at(c, "network.mode"), c->diags->arena));
		aj_diag_advise(c->diags, "set network.mode = \"allow\", or remove network.allow");
	}
	if (c->p->network == AJ_NET_ALLOW && !c->p->allow.count && !c->p->ask) {
		aj_diag_error(c->diags, aj_at(c, "network.mode"), AJ_E_CONTRADICTION,
		              "network.mode is \"allow\", but network.allow names no host");
		aj_diag_advise(c->diags, "set network.mode = \"none\", or name hosts: network.allow = [\"pypi.org:443\"]");
	}
	if (c->p->network != AJ_NET_NONE && !c->p->exec) {
		aj_diag_error(c->diags, aj_at(c, "network.mode"), AJ_E_CONTRADICTION,
		              "network.mode is \"%s\", but process.exec is false (%s): the system call list of snippets has no socket",
		              aj_key_word(&aj_policy_keys[aj_key_index("network.mode")], c->p, c->diags->arena),
		              aj_origin_text(aj_at(c, "process.exec"), c->diags->arena));
		aj_diag_advise(c->diags, "set process.exec = true, the system call list of commands, or network.mode = \"none\"");
	}
	if (c->p->network == AJ_NET_HOST && c->p->ask) {
		aj_diag_error(c->diags, aj_at(c, "network.ask"), AJ_E_CONTRADICTION,
		              "network.ask has no effect with network.mode = \"host\" (%s): no connection is checked",
		              aj_origin_text(aj_at(c, "network.mode"), c->diags->arena));
		aj_diag_advise(c->diags, "set network.mode = \"allow\"");
	}
	if (c->p->network == AJ_NET_HOST && (c->p->require & AJ_WALL_NETWORK))
		aj_diag_error(c->diags, aj_at(c, "network.mode"), AJ_E_CONTRADICTION,
		              "network.mode is \"host\", but require.walls asks for the network wall (%s)",
		              aj_origin_text(aj_at(c, "require.walls"), c->diags->arena));
}

static void published(const struct aj_lint *c)
{
	struct aj_publish_rule rule;
	if (c->p->publish.count && (c->p->network == AJ_NET_NONE || c->p->network == AJ_NET_HOST)) {
		const char *mode = aj_origin_text(aj_at(c, "network.mode"), c->diags->arena);
		const struct aj_origin *at = aj_at(c, "network.publish");
		if (c->p->network == AJ_NET_HOST)
			aj_diag_error(c->diags, at, AJ_E_CONTRADICTION,
			              "network.publish has no effect with network.mode = \"host\" (%s): servers of the jail listen on the host itself",
			              mode);
		else
			aj_diag_error(c->diags, at, AJ_E_CONTRADICTION,
			              "network.publish needs an interface in the jail, but network.mode is \"none\" (%s)", mode);
		aj_diag_advise(c->diags, c->p->network == AJ_NET_HOST ? "remove the published ports"
		                                                      : "set network.mode = \"loopback\" or \"allow\"");
	}
	for (size_t i = 0; i < c->p->publish.count && c->p->publish_to == AJ_PUBLISH_LOOPBACK; i++) {
		if (aj_publish_rule_parse(c->p->publish.items[i], &rule) || rule.loopback)
			continue;
		aj_diag_error(c->diags, aj_item_at(c, "network.publish", i), AJ_E_CONTRADICTION,
		              "network.publish = \"%s\" is open to more than this host, but network.publish_to is \"loopback\" (%s)",
		              c->p->publish.items[i], aj_origin_text(aj_at(c, "network.publish_to"), c->diags->arena));
		aj_diag_advise(c->diags, "omit HOST, or set network.publish_to = \"any\"");
	}
}

static void files(const struct aj_lint *c)
{
	static const char *const own[] = { "/proc", "/dev", "/usr", "/etc" };
	for (size_t i = 0; i < c->p->binds.count; i++) {
		struct aj_bind bind, other;
		if (aj_bind_parse(c->diags->arena, c->p->binds.items[i], &bind))
			continue;
		for (size_t j = 0; j < sizeof own / sizeof *own; j++)
			if (aj_path_within(bind.target, own[j]))
				aj_diag_error(c->diags, aj_item_at(c, "filesystem.binds", i), AJ_E_CONTRADICTION,
				              "the bind at `%s` would cover a part of the jail itself (%s)", bind.target, own[j]);
		for (size_t j = 0; j < c->p->masks.count; j++) {
			struct aj_masked mask;
			const char *text = c->p->masks.items[j];
			if (aj_mask_parse(c->diags->arena, text, &mask) || !aj_path_within(bind.target, mask.target))
				continue;
			aj_diag_error(c->diags, aj_item_at(c, "filesystem.binds", i), AJ_E_CONTRADICTION,
			              "the bind at `%s` uncovers the mask `%s` (%s)", bind.target, text,
			              aj_origin_text(aj_item_at(c, "filesystem.masks", j), c->diags->arena));
			aj_diag_advise(c->diags, "remove the bind or the mask");
		}
		for (size_t j = 0; j < i; j++) {
			const char *wrong = aj_bind_parse(c->diags->arena, c->p->binds.items[j], &other);
			if (!wrong && strcmp(other.target, bind.target) == 0)
				aj_diag_error(c->diags, aj_item_at(c, "filesystem.binds", i), AJ_E_CONTRADICTION,
				              "two binds have the target `%s` (the other: %s)", bind.target,
				              aj_origin_text(aj_item_at(c, "filesystem.binds", j), c->diags->arena));
		}
		for (size_t j = 0; j < i; j++) {
			if (aj_bind_parse(c->diags->arena, c->p->binds.items[j], &other) ||
			    strcmp(other.target, bind.target) == 0 || !aj_path_within(other.target, bind.target))
				continue;
			aj_diag_error(c->diags, aj_item_at(c, "filesystem.binds", i), AJ_E_CONTRADICTION,
			              "the bind at `%s` hides the earlier bind at `%s` (%s)", bind.target, other.target,
			              aj_origin_text(aj_item_at(c, "filesystem.binds", j), c->diags->arena));
			aj_diag_advise(c->diags, "list the outer bind first");
		}
		if (aj_path_within(bind.target, "/workspace") && c->p->workspace != AJ_WORKSPACE_NONE)
			aj_diag_error(c->diags, aj_item_at(c, "filesystem.binds", i), AJ_E_CONTRADICTION,
			              "the bind at `%s` is inside the workspace", bind.target);
	}
}

static void masks(const struct aj_lint *c)
{
	struct aj_masked mask;
	for (size_t i = 0; i < c->p->masks.count; i++)
		if (!aj_mask_parse(c->diags->arena, c->p->masks.items[i], &mask) && strcmp(mask.target, "/usr") == 0)
			aj_diag_error(c->diags, aj_item_at(c, "filesystem.masks", i), AJ_E_CONTRADICTION,
			              "the mask `/usr` would hide every program, Python too: nothing could be started");
}

static void process(const struct aj_lint *c)
{
	if (c->p->fork && !c->p->exec)
		aj_diag_error(c->diags, aj_at(c, "process.fork"), AJ_E_CONTRADICTION,
		              "process.fork needs process.exec = true: the system call list of snippets (%s) has neither",
		              aj_origin_text(aj_at(c, "process.exec"), c->diags->arena));
	if (c->p->ptrace && !c->p->exec)
		aj_diag_error(c->diags, aj_at(c, "process.ptrace"), AJ_E_CONTRADICTION,
		              "process.ptrace needs process.exec = true: a snippet is one process, which nothing traces (%s)",
		              aj_origin_text(aj_at(c, "process.exec"), c->diags->arena));
	if (!c->p->exec && strcmp(c->p->rootfs, "host") == 0)
		aj_diag_error(c->diags, aj_at(c, "filesystem.rootfs"), AJ_E_CONTRADICTION,
		              "filesystem.rootfs = \"host\" is for commands, but process.exec is false: no program could be started");
	if (!c->p->layer && (c->p->require & AJ_WALL_PYTHON_LAYER))
		aj_diag_error(c->diags, aj_at(c, "python.layer"), AJ_E_CONTRADICTION,
		              "python.layer is false, but require.walls asks for the Python layer (%s)",
		              aj_origin_text(aj_at(c, "require.walls"), c->diags->arena));
	if (!c->p->request_layer && (c->p->require & AJ_WALL_PYTHON_LAYER))
		aj_diag_error(c->diags, aj_at(c, "requests.layer"), AJ_E_CONTRADICTION,
		              "requests.layer lets a request switch the Python layer off, but require.walls asks for it (%s)",
		              aj_origin_text(aj_at(c, "require.walls"), c->diags->arena));
	for (size_t i = 0; i < c->p->env.count; i++)
		for (size_t j = 0; j < i; j++) {
			size_t bytes = strcspn(c->p->env.items[i], "=") + 1;
			if (strncmp(c->p->env.items[i], c->p->env.items[j], bytes) == 0)
				aj_diag_error(c->diags, aj_item_at(c, "process.env", i), AJ_E_CONTRADICTION,
				              "the variable `%.*s` is set twice", (int)bytes - 1, c->p->env.items[i]);
		}
}

static void limits(const struct aj_lint *c)
{
	if ((c->p->require & AJ_WALL_MEMORY_CGROUP) && !c->p->memory_bytes)
		aj_diag_error(c->diags, aj_at(c, "require.walls"), AJ_E_CONTRADICTION,
		              "memory-cgroup is required, but limits.memory is \"none\"");
	if ((c->p->require & AJ_WALL_PIDS_CGROUP) && !c->p->pids)
		aj_diag_error(c->diags, aj_at(c, "require.walls"), AJ_E_CONTRADICTION,
		              "pids-cgroup is required, but limits.pids is \"none\"");
	if (c->p->output_bytes && c->p->capture_bytes > c->p->output_bytes)
		aj_diag_error(c->diags, aj_at(c, aj_at(c, "output.capture")->file ? "output.capture" : "output.total"),
		              AJ_E_CONTRADICTION, "output.capture keeps more bytes than output.total allows to be written");
}

void aj_policy_contradictions(const struct aj_loaded *loaded, struct aj_diags *diags)
{
	const struct aj_lint c = { loaded, &loaded->policy, diags };
	network(&c);
	published(&c);
	files(&c);
	masks(&c);
	process(&c);
	limits(&c);
}
