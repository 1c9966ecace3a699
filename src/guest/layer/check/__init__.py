"""The check of source, and of the text of annotations, before it runs: name rules, import rules, one walk over the syntax tree; no module here imports the rail."""
