/* Lint: warnings about combinations of values that are allowed and unwise.
 * It changes nothing and refuses nothing, and reads of the files only the origins of values. */
#include <string.h>

#include "base/path.h"
#include "policy/bind.h"
#include "policy/env.h"
#include "policy/field.h"
#include "policy/item_types.h"
#include "policy/load/check.h"

/* Modules that lead out of the Python layer, or evaluate the text that they are given; `_socket` counts as `socket`. A module of
 * which the layer shows no name (rail/hidden.py) leads nowhere, and is not here. */
static const struct {
	const char *name, *why;
} dangerous[] = {
	{ "os", "files, processes and the environment" },
	{ "sys", "every loaded module is in sys.modules" },
	{ "subprocess", "starts programs" },
	{ "_posixsubprocess", "starts programs" },
	{ "multiprocessing", "starts processes, and unpickles" },
	{ "concurrent", "starts processes" },
	{ "socket", "the network" },
	{ "ssl", "the network" },
	{ "http", "the network" },
	{ "urllib", "the network" },
	{ "asyncio", "starts programs and opens sockets" },
	{ "ctypes", "calls any C function: the layer ends there" },
	{ "cffi", "calls any C function: the layer ends there" },
	{ "pickle", "runs what it loads" },
	{ "marshal", "makes code objects" },
	{ "shelve", "pickle in a file" },
	{ "importlib", "imports any module" },
	{ "_imp", "imports any module" },
	{ "_frozen_importlib", "imports any module" },
	{ "_frozen_importlib_external", "imports any module" },
	{ "builtins", "the unrestricted builtins" },
	{ "gc", "every object of the process" },
	{ "inspect", "frames and code objects" },
	{ "timeit", "evaluates text" },
	{ "unittest", "mock and the loaders find functions by name" },
	{ "xmlrpc", "the network, and attributes by name" },
	{ "traceback", "walks frames, and reads files for their lines" },
	{ "linecache", "files" },
	{ "tracemalloc", "reads files for their lines" },
	{ "faulthandler", "writes to any descriptor" },
	{ "dis", "code objects" },
	{ "sqlite3", "files" },
	{ "typing", "get_type_hints evaluates text" },
	{ "operator", "attrgetter reads attributes past the check" },
	{ "signal", "changes how the process ends" },
	{ "threading", "holds sys and the frames of all threads" },
	{ "tempfile", "files, and os" },
	{ "shutil", "files, and os" },
	{ "pathlib", "files, and os" },
	{ "io", "files" },
	{ "fileinput", "files" },
	{ "glob", "files, and os" },
	{ "fcntl", "files" },
	{ "mmap", "memory" },
	{ "resource", "limits" },
	{ "pty", "starts programs" },
	{ "webbrowser", "starts programs" },
	{ "uuid", "holds os and sys" },
	{ "logging", "holds os and sys" },
};

/* Of these, agent code sees a part, or guarded functions (guest/layer/rail/shown.py, replacements.py). */
static const char *const guarded[] = {
	"asyncio",
	"builtins",
	"concurrent.futures",
	"doctest",
	"fileinput",
	"gc",
	"http",
	"http.cookies",
	"importlib",
	"glob",
	"os",
	"pathlib",
	"pickle",
	"shutil",
	"sqlite3",
	"tempfile",
	"inspect",
	"io",
	"logging",
	"logging.handlers",
	"operator",
	"os.path",
	"sys",
	"threading",
	"timeit",
	"traceback",
	"tracemalloc",
	"typing",
	"unittest",
	"unittest.mock",
	"urllib",
	"urllib.parse",
	"uuid",
};

static bool is_guarded(const char *pattern)
{
	for (size_t i = 0; i < sizeof guarded / sizeof *guarded; i++)
		if (strcmp(pattern, guarded[i]) == 0)
			return true;
	return false;
}

/* The policy's list of modules, and the one that requests may add. */
static const char *const module_keys[] = { "python.imports", "requests.imports" };
enum { MODULE_KEYS = sizeof module_keys / sizeof *module_keys };

static const aj_text_list *modules_of(const struct aj_lint *c, const char *key)
{
	return aj_const_field(&aj_policy_keys[aj_key_index(key)], c->p);
}

static void warn_of_module(const struct aj_lint *c, const char *key, size_t i)
{
	const char *pattern = modules_of(c, key)->items[i];
	size_t top = strcspn(pattern, "."), underscore = *pattern == '_';
	for (size_t j = 0; !is_guarded(pattern) && j < sizeof dangerous / sizeof *dangerous; j++) {
		const char *name = dangerous[j].name;
		bool same = strlen(name) == top && strncmp(name, pattern, top) == 0;
		if (!same && (!underscore || strlen(name) != top - 1 || strncmp(name, pattern + 1, top - 1) != 0))
			continue;
		aj_diag_warn(c->diags, aj_item_at(c, key, i), AJ_W_MODULE, "the module `%s` undoes the import check: %s", pattern,
		             dangerous[j].why);
		aj_diag_advise(c->diags, "remove the module, or set python.layer = false: the kernel's walls stand either way");
	}
}

static void imports(const struct aj_lint *c, const char *key)
{
	for (size_t i = 0; c->p->layer && i < modules_of(c, key)->count; i++) {
		const char *pattern = modules_of(c, key)->items[i];
		warn_of_module(c, key, i);
		if (!strchr(pattern, '*'))
			continue;
		const char *where = strchr(pattern, '.')
		                      ? aj_printf(c->diags->arena, "below `%.*s`", (int)strcspn(pattern, "."), pattern)
		                      : "of the tree, also those that undo the import check";
		aj_diag_warn(c->diags, aj_item_at(c, key, i), AJ_W_STAR, "`%s` allows every module %s", pattern, where);
		aj_diag_advise(c->diags, "name the modules that are used");
	}
}

static void secrets(const struct aj_lint *c)
{
	for (size_t i = 0; i < c->p->env.count; i++) {
		const char *entry = c->p->env.items[i];
		if (!aj_env_secret(entry))
			continue;
		aj_diag_warn(c->diags, aj_item_at(c, "process.env", i), AJ_W_SECRET,
		             "the variable `%.*s` looks like a secret: every process in the jail can read it",
		             (int)strcspn(entry, "="), entry);
		aj_diag_advise(c->diags, "keep the secret out of the jail: call the service outside, and pass the answer in");
	}
}

/* The services at these addresses give the machine's credentials to every program that asks. */
static void allowed_host(const struct aj_lint *c, size_t i)
{
	static const char *const metadata[] = { "169.254.169.254", "169.254.170.2",   "100.100.100.200", "168.63.129.16",
		                                "192.0.0.192",     "[fd00:ec2::254]", "[fd20:ce::254]" };
	const char *item = c->p->allow.items[i];
	if (item[0] == '*')
		aj_diag_warn(c->diags, aj_item_at(c, "network.allow", i), AJ_W_STAR,
		             "`%s` allows every host name below this domain, whichever user registers the name", item);
	for (size_t j = 0; j < sizeof metadata / sizeof *metadata; j++)
		if (aj_host_covers(item, aj_printf(c->diags->arena, "%s%s", metadata[j], strrchr(item, ':'))))
			aj_diag_warn(c->diags, aj_item_at(c, "network.allow", i), AJ_W_METADATA,
			             "`%s` holds %s, where a cloud's machines get their credentials", item, metadata[j]);
}

static void rails(const struct aj_lint *c)
{
	if (c->p->layer && c->p->builtins == AJ_BUILTINS_FULL && !c->p->exec)
		aj_diag_warn(c->diags, aj_at(c, "python.builtins"), AJ_W_BUILTINS,
		             "the builtin set \"full\" has eval, exec and open: little is left of the rail");
	if (c->p->network == AJ_NET_HOST)
		aj_diag_warn(c->diags, aj_at(c, "network.mode"), AJ_W_HOST_NETWORK,
		             "the jail uses the host's network with its local services: there is no network wall");
	if (!c->p->memory_bytes && !c->p->exec)
		aj_diag_warn(c->diags, aj_at(c, "limits.memory"), AJ_W_NO_LIMIT, "the jail has no memory limit");
	if (!c->p->pids)
		aj_diag_warn(c->diags, aj_at(c, "limits.pids"), AJ_W_NO_LIMIT, "the jail has no limit on processes");
	for (size_t i = 0; i < c->p->allow.count; i++)
		allowed_host(c, i);
}

static void binds(const struct aj_lint *c)
{
	static const char *const whole[] = { "/home", "/root", "/etc", "/var", "/run", "/proc", "/sys", "/dev", "/boot", "/tmp" };
	static const char *const sockets[] = { "docker.sock", "podman.sock", "containerd.sock", ".ssh",
		                               ".aws",        ".gnupg",      ".kube",           ".docker" };
	for (size_t i = 0; i < c->p->binds.count; i++) {
		struct aj_bind bind;
		if (aj_bind_parse(c->diags->arena, c->p->binds.items[i], &bind))
			continue;
		for (size_t j = 0; j < sizeof whole / sizeof *whole; j++)
			if (strcmp(bind.source, whole[j]) == 0)
				aj_diag_warn(c->diags, aj_item_at(c, "filesystem.binds", i), AJ_W_WHOLE_FOLDER,
				             "all of `%s` is shown to the jail", whole[j]);
		for (size_t j = 0; j < sizeof sockets / sizeof *sockets; j++)
			if (strstr(bind.source, sockets[j]))
				aj_diag_warn(c->diags, aj_item_at(c, "filesystem.binds", i), AJ_W_KEYS,
				             "`%s` holds keys, or lets the jail start programs outside", bind.source);
		for (size_t j = 0; bind.writable && j < c->p->masks.count; j++) {
			struct aj_masked mask;
			if (!aj_mask_parse(c->diags->arena, c->p->masks.items[j], &mask) &&
			    aj_path_within(mask.target, bind.target) && strcmp(mask.target, bind.target) != 0)
				aj_diag_warn(c->diags, aj_item_at(c, "filesystem.masks", j), AJ_W_MASK_FOLDER,
				             "the mask `%s` is inside the writable bind `%s`: it hides this path, and no other path to the same file",
				             c->p->masks.items[j], bind.target);
		}
	}
}

void aj_policy_lint_modules(const struct aj_loaded *loaded, const char *option, struct aj_diags *diags)
{
	const struct aj_lint c = { loaded, &loaded->policy, diags };
	for (int m = 0; loaded->policy.layer && m < MODULE_KEYS; m++) {
		size_t k = aj_key_index(module_keys[m]);
		for (size_t i = 0; i < loaded->items_at[k].count && i < modules_of(&c, module_keys[m])->count; i++) {
			const char *file = loaded->items_at[k].items[i].file;
			if (!option || (file && strcmp(file, option) == 0))
				warn_of_module(&c, module_keys[m], i);
		}
	}
}

void aj_policy_lint(const struct aj_loaded *loaded, struct aj_diags *diags)
{
	const struct aj_lint c = { loaded, &loaded->policy, diags };
	for (int m = 0; m < MODULE_KEYS; m++)
		imports(&c, module_keys[m]);
	secrets(&c);
	rails(&c);
	binds(&c);
}
