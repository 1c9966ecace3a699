/* The table of the keys of agentjail.toml. To add a key: a field in site.h, a row here, and the code that reads the field.
 * It holds no logic: the functions of policy/keys.h walk these rows as they walk a policy's. */
#include "policy/load/site.h"

#define AT(field) offsetof(struct aj_site, field)

/* clang-format off */
const struct aj_key aj_site_keys[] = {
	{ "default.exec", AJ_KEY_TEXT, AT(default_exec), .items = &aj_item_name,
	  .fallback = "snippet", .by = AJ_BY_LAUNCHER,
	  .help = "the policy of `agentjail exec` without --policy" },
	{ "default.run", AJ_KEY_TEXT, AT(default_run), .items = &aj_item_name,
	  .fallback = "command", .by = AJ_BY_LAUNCHER,
	  .help = "the policy of `agentjail run` without --policy" },
	{ "policies.path", AJ_KEY_LIST, AT(path), .max = 16, .items = &aj_item_folder,
	  .by = AJ_BY_LAUNCHER,
	  .help = "folders that are searched for NAME.toml, in this order, before the built-in policies" },
	{ "policies.local", AJ_KEY_BOOL, AT(local),
	  .fallback = "false", .by = AJ_BY_LAUNCHER,
	  .help = "whether an agentjail-policy.toml in the working directory is used even without --local-policy; "
	          "that policy may only tighten" },
	{ "policies.files", AJ_KEY_BOOL, AT(files),
	  .fallback = "true", .by = AJ_BY_LAUNCHER,
	  .help = "whether --policy-file may name any file; false: only named policies" },
	{ "policies.lock", AJ_KEY_LIST, AT(lock), .max = AJ_KEYS_MAX, .items = &aj_item_key,
	  .by = AJ_BY_LAUNCHER,
	  .help = "keys or sections of policies that only the policies of the path and the built-in ones may loosen: "
	          "no option, no other file" },
	{ "rootfs.path", AJ_KEY_TEXT, AT(rootfs), .items = &aj_item_text,
	  .fallback = "", .by = AJ_BY_LAUNCHER,
	  .help = "the folder that holds the Python trees by name; empty: beside the program" },
	{ "identity.uids", AJ_KEY_TEXT, AT(uids), .items = &aj_item_ids,
	  .fallback = "", .by = AJ_BY_LAUNCHER,
	  .help = "FIRST-LAST: host ids that no user has, one for each jail of root, or for the jails of one tenant and policy; "
	          "empty: all jails of root share 65534" },
	{ "network.upstream_proxy", AJ_KEY_TEXT, AT(upstream_proxy), .items = &aj_item_proxy,
	  .fallback = "", .by = AJ_BY_SUPERVISOR,
	  .help = "http://HOST:PORT: the proxy that jails with network.mode = \"allow\" are connected through, by CONNECT; "
	          "it resolves their names. Empty: none" },
	{ "network.upstream_proxy_credentials", AJ_KEY_TEXT, AT(upstream_credentials), .items = &aj_item_credentials,
	  .fallback = "", .by = AJ_BY_SUPERVISOR,
	  .help = "source of the user and password for network.upstream_proxy: file:/PATH, or command:TEXT for the host's shell. "
	          "Its first line is USER:PASSWORD, read at the start of each jail. Empty: none" },
	{ "audit.destination", AJ_KEY_TEXT, AT(audit), .items = &aj_item_destination,
	  .fallback = "none", .by = AJ_BY_LAUNCHER,
	  .help = "where every run is recorded: none, file:/path, syslog or journal" },
	{ 0 },
};
/* clang-format on */
