"""The check of source before it runs: name rules, import rules, one walk over the syntax tree; no module here runs agent code or imports the rail."""
