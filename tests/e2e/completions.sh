#!/bin/sh
# Completions of bash, zsh and fish for `agentjail`: the shells' own functions are called with the lines that a person would type.
# It needs no jail; a shell that is not here is skipped.
. "$(dirname "$0")/../lib.sh"

here=$tests/../docs/completions
PATH=$(dirname "$AJ"):$PATH
mkdir "$T/files" && : >"$T/files/first.py" && mkdir "$T/files/folder"
cd "$T/files" || exit 1

# Options as --help lists them.
listed() { # WORD...
	"$AJ" "$@" --help | sed -n 's/^  \(-[-a-z]*\) .*/\1/p' | sort
}

# --- a line's last word is completed ---
gives() { # WANT LINE...
	local want=$1
	shift
	is "$shell: agentjail $*" "$want" "$("${shell}_gives" "$@" | sed 's| *$||' | tr '\n' ' ' | sed 's/ $//')"
}
holds() { # WORD LINE...
	local want=$1
	shift
	check "$shell: agentjail $* holds $want" sh -c 'printf "%s\n" "$2" | grep -qx -e "$1" || { echo "$2" | head -n 5; false; }' sh "$want" "$("${shell}_gives" "$@")"
}
common() { # in each shell
	holds exec ''
	gives policy po
	gives "verify" rootfs v
	gives --builtins exec --buil
	gives --for-model exec --for-
	gives full exec --builtins f
	gives offline-build run --policy off
	gives --source policy show --so
	gives science policy show sci
	gives --head audit verify --hea
	gives --apparmor doctor --ap
	holds first.py exec fir
	gives folder/ exec --output f
	holds sort run -- sor
	holds sort run --bind /x --network none sor
}

# --- bash: `=` is a word of its own to it ---
shell=bash
if command -v bash >/dev/null; then
	bash_gives() { # a folder's slash is what readline adds
		# shellcheck disable=SC2016
		bash --norc --noprofile -c '. "$0"; COMP_WORDS=(agentjail "$@"); COMP_CWORD=$#; _agentjail; for one in "${COMPREPLY[@]}"; do
			[ ! -d "$one" ] || one+=/; printf "%s\n" "$one"; done' "$here/agentjail.bash" "$@" 2>&1
	}
	common
	gives "on off" exec --layer ''
	gives "minimal static standard full" exec --builtins =
	gives full exec --builtins = f
	holds sort run --network = none sor
	gives "" exec --id ''
	for command in exec run session serve 'policy list' 'policy check' 'policy diff' 'policy schema'; do
		# shellcheck disable=SC2086
		is "bash: all options of $command" "$(listed $command)" "$(bash_gives $command - | grep -vx -e --help | sort)"
	done
else
	skip bash "no bash here"
fi

[ -z "$ROOT_TOO" ] || finish # no user id changes what the others say

# --- fish: what it lists for a line, without the descriptions ---
shell=fish
fish_gives() {
	HOME=$T fish --no-config -c "source $here/agentjail.fish; complete -C 'agentjail $*'" 2>&1 | cut -f1
}
if command -v fish >/dev/null; then
	common
	gives --builtins=full exec --builtins=f
else
	skip fish "no fish here"
fi

# --- zsh: completes at a prompt alone, so on a terminal ---
if command -v zsh >/dev/null; then
	counted zsh env HOME="$T" "$PY" -B "$tests/e2e/completions_zsh.py" "$here"
else
	skip zsh "no zsh here"
fi
finish
