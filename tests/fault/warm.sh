#!/bin/sh
# Many pool hits and sessions in one supervisor, with kills at random instants, and nothing is left of them (warm.py).
# It does some hundred; HITS=50000 SESSIONS=2000 for a soak, which says what there was before and after. SEED=N repeats the choices.
. "$(dirname "$0")/../lib.sh"

[ -z "$ROOT_TOO" ] || : "${HITS:=20}" "${SESSIONS:=5}" "${BIRTHS:=10}"
[ -n "${WHOLE:-}" ] || : "${HITS:=80}" "${SESSIONS:=15}"
export HITS="${HITS:-150}" SESSIONS="${SESSIONS:-25}" BIRTHS="${BIRTHS:-40}"
driver fault/warm
finish
