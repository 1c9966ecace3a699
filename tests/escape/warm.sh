#!/bin/sh
# Jails from a zygote: what they are from outside (warm.py), and what one of them may know of another (tenants.py).
. "$(dirname "$0")/../lib.sh"

driver escape/warm
driver escape/tenants
finish
