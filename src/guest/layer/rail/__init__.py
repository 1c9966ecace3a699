"""The rules for agent code while it runs: guards, restricted builtins, module proxies, patches, the clock; no module here imports the runtime."""
