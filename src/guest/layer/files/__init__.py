"""Files of agent code: open(), os and the modules that open files, held to the places that the code may use; no module here imports another room."""
