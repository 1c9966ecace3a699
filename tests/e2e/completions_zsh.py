"""Types at a prompt of zsh, presses the tabulator key, and looks at what stands on the line then; completions.sh starts it."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from terminal import Terminal

LINES = [
    ("agentjail po", "agentjail policy"),
    ("agentjail rootfs v", "agentjail rootfs verify"),
    ("agentjail exec --buil", "agentjail exec --builtins="),
    ("agentjail exec --for-", "agentjail exec --for-model"),
    ("agentjail exec --builtins=f", "agentjail exec --builtins=full"),
    ("agentjail run --policy off", "agentjail run --policy offline-build"),
    ("agentjail policy show --so", "agentjail policy show --source"),
    ("agentjail policy show sci", "agentjail policy show science"),
    ("agentjail doctor --ap", "agentjail doctor --apparmor"),
    ("agentjail exec fir", "agentjail exec first.py"),
    ("agentjail exec --output fol", "agentjail exec --output folder/"),
    ("agentjail run -- agentj", "agentjail run -- agentjail"),
]

passed = failed = 0
zsh = Terminal("/bin/sh", "-c", "exec zsh -f -i")
zsh.type("PS1='> '; unsetopt zle_bracketed_paste; fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D; show() { print -r -- \"<$BUFFER>\" >$HOME/line; BUFFER=; }; "
         "zle -N show; bindkey '^X' show; print rea''dy\n" % sys.argv[1])
if not zsh.expect("zsh", "ready", 60):
    print("  FAIL  zsh: no prompt: %r" % zsh.text[-500:])
    failed += 1
for number, (typed, want) in enumerate(LINES if not failed else []):
    line = os.path.join(os.environ["HOME"], "line")
    if os.path.exists(line):
        os.remove(line)
    zsh.type(typed + "\t\x18")
    for _ in range(600):
        if os.path.exists(line) and os.path.getsize(line):
            break
        zsh.read(0.1)
    got = open(line).read().strip().replace(" >", ">") if os.path.exists(line) else "nothing"
    if got == "<%s>" % want:
        passed += 1
    else:
        failed += 1
        print("  FAIL  zsh: %r gives %r: %r" % (typed, got, zsh.text[-300:]))
zsh.type("\x03exit\n")
os.close(zsh.fd)
os.waitpid(zsh.pid, 0)
print("%d passed, %d failed, 0 skipped" % (passed, failed))
