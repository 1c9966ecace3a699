#!/bin/sh
# Jails from a zygote: what they are from outside (warm.py), and what one of them may know of another (tenants.py).
. "$(dirname "$0")/../lib.sh"

here=$(dirname "$0")
for script in warm tenants; do
	[ -e "$here/$script.py" ] || continue
	"$PY" -I -S -B "$here/$script.py" "$(dirname "$AJ")" "$self/$script" >"$T/log" 2>&1
	grep -a '^  ' "$T/log"
	set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' "$T/log")
	if [ $# = 2 ]; then
		passed=$((passed + $1)) failed=$((failed + $2))
	else
		fail "$script came to its end" "$(tail -c 1500 "$T/log")"
	fi
done
finish
