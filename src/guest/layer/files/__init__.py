"""Files of agent code: open(), os and the modules that open files, confined to the places that the code may use; no module here imports
another folder of the layer."""
