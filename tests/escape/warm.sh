#!/bin/sh
# Jails from a zygote: what they are from outside (warm.py), and what one of them may know of another (tenants.py).
. "$(dirname "$0")/../lib.sh"

for script in warm tenants; do
	counted $script "$PY" -I -S -B "$tests/escape/$script.py" "$(dirname "$AJ")" "$self/$script"
done
finish
