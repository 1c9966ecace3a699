"""How values and files cross the wall: JSON both ways, type tags, texts, rich results; no module here runs a snippet."""
