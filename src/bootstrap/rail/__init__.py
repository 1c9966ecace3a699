"""The rules for agent code while it runs: guards, restricted builtins, module proxies, patches; no module here imports the runtime."""
