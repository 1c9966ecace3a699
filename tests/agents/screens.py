"""The screens of Claude Code and codex in a jail and outside, from the first one to an answer of their model, for which there is a stand-in.
Both sides begin with the same home, workspace and environment and get the same keys; of the screens one line alone is made equal, see SPENT."""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("egress", ""):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))
os.environ["AJ_WORLD_ANSWERS"] = os.path.join(HERE, "models.py")
import world  # noqa: E402

world.enter()
from client import AJ, FOLDER, check, main, skip, test  # noqa: E402
from models import GREET  # noqa: E402
from screen import Screen, settle  # noqa: E402

MODULES = os.environ["AGENTS"] + "/node_modules"
CA = "/etc/ssl/certs/ca-certificates.crt"
SIZE, PATIENCE_S = (100, 32), 90
# How long it took, and Claude Code's word for that, which it draws by lot: "Baked for 1s".
SPENT = re.compile(r"\S+ for (\d+m )?\d+s\b")
W = world.World(AJ, FOLDER)
for number, name in enumerate(("api.anthropic.com", "api.openai.com")):
    W.name(name, "203.0.113.%d" % (7 + number))


def plain(cells):
    return re.sub(r"\x1b\[[0-9;:]*m|\x1b\]8;[^\x1b]*\x1b\\\\", "", cells)


def normal(shown):
    """Without what time and chance decide."""
    return "\n".join("SPENT" if SPENT.search(plain(line)) else line for line in shown[0].split("\n")), shown[1]


def differences(inside, outside):
    pairs = zip([*inside[0].split("\n"), inside[1]], [*outside[0].split("\n"), outside[1]])
    return [pair for pair in pairs if pair[0] != pair[1]] or plain(inside[0])


def both(program, steps, env, files):
    """The steps: keys, text or a size, and what the screen shows then. `files`: of the home."""
    if not shutil.which("tmux"):
        skip(program, "tmux is not there (.ci/deps check)")
    home, workspace, state = (os.path.join(FOLDER, program + "-" + name) for name in ("home", "workspace", "state"))
    for folder in (home, workspace, state):
        os.mkdir(folder)
    os.mkdir(workspace + "/.codex")  # codex asks whether it may trust a folder that configures it
    os.chmod(workspace, 0o777)  # the jail's user is not root
    env = {"HOME": home, "SHELL": "/bin/bash", "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", **env}
    given = [word for name in env if name not in ("HOME", "LANG", "PATH") for word in ("--env", "%s=%s" % (name, env[name]))]
    there = ["sh", "-c", 'cd "$0"; unset TMUX TMUX_PANE TERM_PROGRAM TERM_PROGRAM_VERSION; exec "$@"', workspace]
    jail = W.words("run", "--policy", program, "--changes-end", "keep", "--workspace", workspace, "--bind", MODULES, *given, "--")
    env["XDG_STATE_HOME"] = state  # the kept homes
    for path, text in files:
        for before in ([], jail):
            subprocess.run([*there, *before, "sh", "-c", 'mkdir -p "$(dirname ~/"$1")"; printf %s "$2" >~/"$1"', "sh", path, text], env=env, check=True)
    agent = MODULES + "/.bin/" + program
    tmp = os.path.join(FOLDER, program + "-tmp")  # the jail's is gone with it
    os.mkdir(tmp, 0o700)
    outside = Screen(FOLDER, program + "-out", [*there, "env", "TMPDIR=" + tmp, "CLAUDE_CODE_TMPDIR=" + tmp, agent], env, SIZE)
    inside = Screen(FOLDER, program + "-in", [*there, *jail, agent], env, SIZE)
    for step, wanted in steps:
        for screen in (inside, outside):
            if step:
                screen.act(step)
        seen = settle(inside, outside, normal, lambda shown, wanted=wanted: re.search(wanted, plain(shown[0])), PATIENCE_S)
        good = seen[0] == seen[1] and re.search(wanted, plain(seen[0][0]))
        if not check("%s: the screen after %s" % (program, step or "the start"), good, "wanted %r: %s" % (wanted, differences(*seen))):
            break
    for screen in (inside, outside):
        screen.end()


@test
def claude_code():
    both("claude", [(None, "Yes, I trust this folder"), ("Enter", r"Welcome back"), (GREET, "\u276f." + GREET), ("Enter", r"(?s)Hello from the stand-in:.*two.*SPENT"),
                    ((80, 24), "stand-in"), ("/", "/[a-z-]+ +[A-Z]"), ("Escape", "(?m)^\u276f./?$")],
         {"ANTHROPIC_API_KEY": "sk-test", "NODE_EXTRA_CA_CERTS": CA, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
         [(".claude.json", '{"hasCompletedOnboarding":true,"theme":"dark","customApiKeyResponses":{"approved":["sk-test"],"rejected":[]}}')])


@test
def codex():
    both("codex", [(None, "trust"), ("Enter", "OpenAI Codex"), (GREET, GREET), ("Enter", r"(?s)Hello from the stand-in:.*two")],
         {"CODEX_API_KEY": "sk-test", "SSL_CERT_FILE": CA},
         [(".codex/auth.json", '{"OPENAI_API_KEY":"sk-test"}'), (".codex/config.toml", "check_for_update_on_startup = false\n[features]\ndaemon_auto_start = false\n")])


main()
