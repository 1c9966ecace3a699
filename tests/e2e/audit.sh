#!/bin/sh
# `agentjail audit verify` on files made here with sed and sha256sum alone, as docs/reference/audit.md describes the format.
# The records' content and every kind of tampering are tested in tests/unit.
. "$(dirname "$0")/../lib.sh"

LOG=$T/audit.log
SEQ=0
PREV=$(printf '%064d' 0)
record() { # EVENT ID
	SEQ=$((SEQ + 1))
	object="{\"v\":1,\"event\":\"$1\",\"id\":\"$2\",\"time\":\"2024-05-06T07:08:0$SEQ.000Z\",\"seq\":$SEQ,\"prev\":\"$PREV\"}"
	PREV=$(printf %s "$object" | hash_of)
	printf '%s,"hash":"%s"}\n' "${object%\}}" "$PREV" >>"$LOG"
}
record start one
FIRST=$PREV
record start two
record end one
verify() { # NAME RC REGEX LINES-OF-SED... : the file after an edit
	local name=$1 rc_wanted=$2 regex=$3
	shift 3
	sed "$@" "$LOG" >"$T/edited"
	text "$name" "$rc_wanted" "$regex" audit verify "$T/edited"
}
text "a whole file" 0 'whole: records 3, runs begun 2$' audit verify "$LOG"
says "its head" "head  $PREV\$"
says "its times" 'last  2024-05-06T07:08:03'
says "the run without an end" '^ +two$'
text "a head that was there" 0 whole audit verify "$LOG" --head "$FIRST"
text "a head that is not" 1 'line 4: cut: .*aaaa' audit verify --head="$(printf '%064d' 0 | tr 0 a)" "$LOG"
verify "a changed word" 1 'line 2: changed: ' 's/two/TWO/'
verify "a missing line" 1 'line 2: missing: ' 2d
verify "a doubled line" 1 'line 3: inserted: ' 2p
verify "a moved line" 1 'line 2: reordered: ' -n '1p;2h;3{p;g;p}'
head -c -1 "$LOG" >"$T/cut"
text "a line without its end" 1 'line 3: cut: ' audit verify "$T/cut"
: >"$T/empty"
text "an empty file" 0 'records 0' audit verify "$T/empty"
head -c 3000000 /dev/zero >"$T/zeros"
text "a line without end" 1 'line 1: changed: ' audit verify "$T/zeros"
is "the documented command" "$FIRST" "$(head -n 1 "$LOG" | sed 's/,"hash":"[0-9a-f]\{64\}"}$/}/' | tr -d '\n' | hash_of)"

text "no such file" 2 'audit: open' audit verify "$T/none"
text "a folder" 2 'not a regular file' audit verify "$T"
text "no verb" 2 'fix: agentjail audit verify' audit
text "a bad verb" 2 'fix: agentjail audit verify' audit repair "$LOG"
text "no file" 2 'no file is given' audit verify
text "two files" 2 'unexpected' audit verify "$LOG" "$LOG"
text "a bad option" 2 'unexpected `--all`' audit verify --all "$LOG"
text "a bad head" 2 'is not the head' audit verify "$LOG" --head 123
text "help" 0 'Usage: agentjail audit verify' audit --help
# An id is anybody's text.
SEQ=0 PREV=$(printf '%064d' 0) LOG=$T/hostile
record start '\u001b[2Jx\nhead'
text "a hostile id" 0 '\\x1b\[2Jx\\nhead' audit verify "$LOG"
named=$T/$(printf 'a\033]0;x\007')
cp "$LOG" "$named"
text "a hostile file name" 0 'a\\x1b\]0;x\\x07: whole' audit verify "$named"
finish
