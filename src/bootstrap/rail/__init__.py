"""The rail: the syntax tree check, guards, restricted builtins and module proxies for agent code. It refuses to know the runtime."""
