#!/bin/sh
# Imports that a zygote has to survive before it is ready: a package that dies at its import, or allocates, forks or waits there for ever, and a tree that reads nothing (import.py).
. "$(dirname "$0")/../lib.sh"

cp -r "$ROOTFS" "$T/rootfs" && cp -r "$ROOTFS" "$T/deaf" && cp "$(dirname "$AJ")/raw.so" "$T"/rootfs/tree/usr/lib/python3.*/
# Python without a runner, and with an end in its first module: it reads nothing of what it is sent.
rm "$T"/deaf/tree/usr/lib/agentjail/guest.so "$T"/deaf/tree/usr/lib/python3.*/encodings/__init__.pyc
for folder in "$T"/deaf/tree/usr/lib/python3.*/encodings; do printf 'import time\ntime.sleep(1000)\n' >"$folder/__init__.py"; done
chmod -R a+rX "$T"
driver reach/import
finish
