#!/bin/sh
# Imports before the walls stand: packages that fail there, and later in another way; and what a zygote has to survive before it is ready: a package
# that dies at its import, or allocates, forks or waits there for ever, and a tree that reads nothing (import.py).
. "$(dirname "$0")/../lib.sh"

cp -r "$ROOTFS" "$T/rootfs" && cp -r "$ROOTFS" "$T/deaf" && cp "$(dirname "$AJ")/raw.so" "$T"/rootfs/tree/usr/lib/python3.*/
# Python without a runner, and with an end in its first module: it reads nothing of what it is sent.
rm "$T"/deaf/tree/usr/lib/agentjail/guest.so "$T"/deaf/tree/usr/lib/python3.*/encodings/__init__.pyc
for folder in "$T"/deaf/tree/usr/lib/python3.*/encodings; do printf 'import time\ntime.sleep(1000)\n' >"$folder/__init__.py"; done
# The first import says why it cannot work, and the second one another thing, as numpy does.
for folder in "$T"/rootfs/tree/usr/lib/python3.*/; do
	echo 'no ELF file' >"$folder/broken_ext.so"
	printf 'import sys\nif hasattr(sys, "tried"):\n    raise ImportError("loaded twice")\nsys.tried = 1\nraise SystemExit("no vector unit")\n' >"$folder/broken_pkg.py"
	printf 'raise ValueError("x" * 10000)\n' >"$folder/broken_long.py"
	printf 'class E(Exception):\n    def __str__(self):\n        raise KeyError\nraise E\n' >"$folder/broken_str.py"
	printf 'import no_such_part\n' >"$folder/broken_part.py"
done
chmod -R a+rX "$T"

# --- why the import before the walls failed: one snippet, and a session; the rest is in import.py ---
for layer in on off; do
	early() { # NAME CODE EXPECT...
		local name=$1 code=$2
		shift 2
		json "import-early: $name, layer $layer" 1 "$@" -- exec --layer $layer --rootfs "$T/rootfs" \
			$([ $layer = off ] || for m in ext pkg long str part; do echo --allow-import broken_$m; done) -c "$code"
	}
	early "an extension" 'import broken_ext' error.type=ImportError 'error.hint~^Importing `broken_ext` before the walls stood failed: ImportError: .*file too short$'
	early "a package" 'import broken_pkg as b' 'error.message=loaded twice' 'error.hint=Importing `broken_pkg` before the walls stood failed: SystemExit: no vector unit'
	early "a long message" 'import broken_long' error.type=ValueError 'error.hint~^Importing `broken_long` before the walls stood failed: ValueError: x{200,300}…?$'
	early "an exception that cannot say what it is" 'import broken_str' error.type=E 'error.hint=Importing `broken_str` before the walls stood failed: E: <str failed: KeyError>'
	early "what is not there needs no words of ours" 'import broken_part' error.type=ModuleNotFoundError 'error!before the walls'
	early "nor does another error" 'try:
    import broken_pkg
except ImportError: pass
1/0' error.type=ZeroDivisionError 'error!before the walls'
done
printf 'import math, broken_pkg\n' >"$T/code"
aj session --rootfs "$T/rootfs" --allow-import broken_pkg <"$T/code"
says "import-early: a session" 'hint: Importing `broken_pkg` before the walls stood failed: SystemExit: no vector unit'

driver reach/import
finish
