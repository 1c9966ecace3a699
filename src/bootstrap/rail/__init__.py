"""The rules for agent code: syntax tree check, guards, restricted builtins, module proxies; no module here imports the runtime."""
