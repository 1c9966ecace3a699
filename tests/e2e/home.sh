#!/bin/sh
# A command where its caller stands: the workspace at its own path, variables by name.
# It looks at what the jail shows and at what stays on the host; the unit tests know each path that is refused.
. "$(dirname "$0")/../lib.sh"

H=$T/home
mkdir -p "$H/project/sub" "$T/p"
export HOME="$H" XDG_STATE_HOME="$H/.local/state"
unset ANTHROPIC_API_KEY OPENAI_API_KEY
[ "$(id -u)" != 0 ] || chown -R 65534:65534 "$H/project"
cd "$H/project/sub" || exit 1

# --- the workspace ---
text "a coding policy shows the folder where one stands, at its own path" 0 "^$H/project/sub\$" run --policy coding-agent -- pwd
text "and from below a workspace one starts there" 0 "^$H/project/sub\$" run --policy coding-agent --workspace .. -- sh -c 'pwd && touch made'
check "the file is where the command stood" test -e made
text "by its general name, too" 0 "^$H/project/sub\$" run --policy coding-agent --workspace .. -- sh -c 'cd /workspace/sub && pwd -P'
text "nothing beside it is shown" 0 '^project$' run --policy coding-agent --workspace .. -- ls -A "$H"
text "--workspace-at /workspace" 0 '^/workspace$' run --policy coding-agent --workspace-at /workspace -- pwd
text "under any policy with a workspace" 0 "^$H/project\$" run --policy offline-build --workspace .. --workspace-at same --chdir "$H/project" -- pwd
text "its places are held there" 1 'Read-only file system' run --policy coding-agent -- sh -c 'touch .vscode/x 2>&1'
text "its parents cannot be changed, but below /tmp" 0 '' run --policy coding-agent -- sh -c "! mkdir /made 2>/dev/null && ! mv '$H' '$H.2' 2>/dev/null"
text "explain knows the path" 0 "^allowed +path $H/project/sub/x .write" policy explain coding-agent --workspace "$H/project/sub" --write --path "$H/project/sub/x"
cd "$H" || exit 1
text "a home is no workspace" 2 'cannot be a workspace: the folder is the caller.s home folder' run --policy coding-agent -- true
says "and the fix is named" "fix: start in a project's folder"
cd / || exit 1
text "the root is none either" 2 'cannot be a workspace' run --policy coding-agent -- true
cd "$H/project" || exit 1
printf 'extends = "command"\n[filesystem]\nworkspace = "read-write"\nworkspace_at = "same"\nmasks = ["secret", "/workspace/hidden"]\nprotect = []\n' >"$T/p/masks.toml"
mkdir hidden && echo SECRET >hidden/key && echo SECRET >secret && chmod -R a+rX .
text "masks follow the workspace" 0 '^masked$' run --policy-file "$T/p/masks.toml" --workspace . -- sh -c 'cat secret hidden/* 2>/dev/null; echo masked'
silent "and hide what they name" SECRET
rm -rf hidden secret

# --- variables ---
export ANTHROPIC_API_KEY=key-of-the-caller COLORTERM=truecolor OTHER=other
text "a policy's variables are passed on" 0 '^key-of-the-caller truecolor none$' run --policy claude -- sh -c 'echo "$ANTHROPIC_API_KEY $COLORTERM ${OTHER-none}"'
text "an option wins" 0 '^mine$' run --policy claude --env ANTHROPIC_API_KEY=mine -- sh -c 'echo "$ANTHROPIC_API_KEY"'
text "another policy passes none" 0 '^none$' run --policy offline-build --workspace . -- sh -c 'echo "${ANTHROPIC_API_KEY-none}"'
aj run --policy claude --dry-run -- true
silent "a printed plan has no value of theirs" key-of-the-caller

finish
