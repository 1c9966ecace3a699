"""How values and files cross the wall: JSON both ways, type tags, texts, rich results, files, standard input, variables; no module here runs a snippet."""
