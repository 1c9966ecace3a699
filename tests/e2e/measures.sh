#!/bin/sh
# A peer of `make bench-scale` that hangs or fails costs its own rows and no others: the peers are in measures.py.
# No jail is made.
. "$(dirname "$0")/../lib.sh"

# The peers that work need a tenth of the limit.
PEER_LIMIT_S=8 python3 "$tests/e2e/measures.py" "$T" >"$T/rows" 2>"$T/err" || cat "$T/err"
says_row() { grep -qxF "$1" "$T/rows" || { cat "$T/rows" "$T/err"; return 1; }; }
check 'peers beside one that hangs are measured' says_row 'works, alive 100: measured'
check '… with clients too' says_row 'works, clients 4: measured'
check 'a peer that does not begin in time is not measured' says_row 'never begins, kind fresh: no end within 8 s'
check 'a peer that hangs keeps the rows before that' says_row 'hangs at ten, alive 1: measured'
check '… and says why there are no more' says_row 'hangs at ten, alive 10: no end within 8 s'
check '… also of those that it was not asked for' says_row 'hangs at ten, alive 100: no end within 8 s'
check 'what it does in other parts is measured' says_row 'hangs at ten, clients 4: measured'
check 'a peer that fails says its error' says_row 'fails to call, kind session: ValueError: no call'
check '… and is measured in the other parts' says_row 'fails to call, alive 100: measured'
check 'a peer that does not end keeps its rows' says_row 'never ends, clients 4: measured'
cp "$tests/../docs/internals/performance.md" "$T/"
check 'the page names what is missing' python3 "$tests/bench/scale/draw.py" "$T"/scale-*.json "$T"
check '… in its cells' grep -qF '| hangs at ten | ' "$T/performance.md"
check '… and with the cause' grep -qF 'hangs at ten (alive 10: no end within 8 s)' "$T/performance.md"
finish
