"""Real coding agents in jails whose network is an allow-list, with a stand-in for the model's API under its real name.
Each is given a prompt: its model has it write a file, then fetch a host that is not allowed, and the agent must say what came of it."""

import os
import re
import subprocess
import sys
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "egress"))
os.environ["AJ_WORLD_ANSWERS"] = os.path.join(HERE, "models.py")
import world  # noqa: E402

world.enter()
from client import AJ, FOLDER, check, main, test  # noqa: E402
from models import FETCH, HOSTS, MADE, PROMPT, TEXT  # noqa: E402

AGENTS = os.environ["AGENTS"]  # node_modules of npm, site of pip
CA = "/etc/ssl/certs/ca-certificates.crt"
W = world.World(AJ, FOLDER)
for number, name in enumerate((*HOSTS, "forbidden.example.org")):
    W.name(name, "203.0.113.%d" % (7 + number))
REFUSED = "forbidden.example.org:%d was refused: this name is not on the jail's list"


def prompt(program, *options, env, words=(), text=PROMPT):
    """Runs the agent in an empty workspace with the prompt as its last argument; how it ended and what it said, and what is in the file that it made."""
    workspace = os.path.join(FOLDER, program)
    os.makedirs(workspace, exist_ok=True)
    os.chmod(workspace, 0o777)  # the jail's user is not root
    variables = [word for pair in env.items() for word in ("--env", "%s=%s" % pair)]
    before = sorted(os.listdir(workspace))
    W.forget()
    done = W.agent("run", "--policy", program, "--workspace", workspace, "--bind", AGENTS + ":/opt/agents", *variables, "--",
                   *(words or ["/opt/agents/node_modules/.bin/" + program]), *options, text.replace("%s", os.path.join(workspace, MADE)))
    check("its folder is as it was", sorted(os.listdir(workspace)) == before, os.listdir(workspace))
    for kept in re.findall(r"agentjail changes show (\S+)", done.stderr)[:1]:
        applied = W.agent("changes", "apply", kept)
        check("its changes are applied", applied.returncode == 0, "%r %r" % (applied.stdout, applied.stderr))
    try:
        with open(os.path.join(workspace, MADE), encoding="utf-8") as f:
            made = f.read()
    except OSError:
        made = None
    return done, made


def judge(done, made, api):
    said = "exit %d, said %.500r, agentjail %.800r" % (done.returncode, done.stdout, done.stderr)
    check("it ends well", done.returncode == 0, said)
    check("its tool made a file", made == TEXT, "%r; %s" % (made, said))
    check("the agent gets the error of a failed fetch", "The fetch said:" in done.stdout and "alert access denied" in done.stdout and "curl ended with 35" in done.stdout, said)
    check("without TLS, the sentence that says why", REFUSED % 80 in done.stdout, said)
    check("as the caller was", REFUSED % 80 in done.stderr and REFUSED % 443 in done.stderr, said)
    asked = [line for line in W.log(kind="http", host=api) if line["line"].startswith("POST /v1")]
    check("it asked its model, by its real name", len(asked) >= 3 and all(line["sni"] == api for line in asked), asked)
    check("no other host was reached", {line["host"] for line in W.log(kind="http")} == {api} and not W.log("host", kind="tcp"), W.log())


@test
def claude_code():
    done, made = prompt("claude", "--allowedTools", "Write,Bash", "-p",
                        env={"ANTHROPIC_API_KEY": "sk-test", "NODE_EXTRA_CA_CERTS": CA, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})
    judge(done, made, "api.anthropic.com")


@test
def codex():
    done, made = prompt("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
                        env={"CODEX_API_KEY": "sk-test", "SSL_CERT_FILE": CA})
    judge(done, made, "api.openai.com")


@test
def codex_signs_in_by_a_browser():
    """The browser runs outside, and comes back to the port that is published; then a jail over another project is signed in as well."""
    words = ("--env", "SSL_CERT_FILE=" + CA, "--bind", AGENTS + ":/opt/agents", "--home-scope", "policy")
    program = "/opt/agents/node_modules/.bin/codex"
    first, second = (os.path.join(FOLDER, "signs-in-%d" % n) for n in (1, 2))
    for folder in (first, second):
        os.makedirs(folder)
        os.chmod(folder, 0o777)
    run = subprocess.Popen(W.words("run", "--policy", "codex", "--workspace", first, "--publish", "1455", *words, "--", program, "login"),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = ""
    for line in run.stdout:
        said += line
        state = re.search(r"[?&]state=([^&\s]+)", line)
        if state:
            break
    else:
        return check("it names its page", False, said)
    with urllib.request.urlopen("http://127.0.0.1:1455/auth/callback?code=c&state=" + state[1], timeout=60) as answer:
        check("the browser is answered", answer.status == 200 and b"Error" not in (page := answer.read()), page)
    rest = run.communicate(timeout=60)[0]
    check("it is signed in", run.returncode == 0 and "Successfully logged in" in rest, "%d %s%s" % (run.returncode, said, rest))
    done = W.agent("run", "--policy", "codex", "--workspace", second, *words, "--", program, "login", "status")
    check("so is the next project", done.returncode == 0 and "Logged in" in done.stdout + done.stderr, "%r %r" % (done.stdout, done.stderr))


@test
def opencode():
    done, made = prompt("opencode", "run", "--model", "anthropic/claude-sonnet-4-5",
                        env={"ANTHROPIC_API_KEY": "sk-test", "NODE_EXTRA_CA_CERTS": CA})
    judge(done, made, "api.anthropic.com")


@test
def gemini():
    done, made = prompt("gemini", "--yolo", "--skip-trust", "-p", env={"GEMINI_API_KEY": "test", "NODE_EXTRA_CA_CERTS": CA})
    judge(done, made, "generativelanguage.googleapis.com")


@test
def aider():
    # Its model's edits are text, and commands are its user's: there is no tool to call.
    env = {"OPENAI_API_KEY": "sk-test", "SSL_CERT_FILE": CA, "PYTHONPATH": "/opt/agents/site"}
    words = ["/usr/bin/python3", "-m", "aider", "--no-git", "--no-pretty", "--yes-always", "--no-show-model-warnings", "--model", "openai/gpt-4o",
             "--edit-format", "whole", "--message"]
    done, made = prompt("aider", env=env, words=words)
    said = "exit %d, said %.900r, agentjail %.800r" % (done.returncode, done.stdout, done.stderr)
    check("it ends well", done.returncode == 0, said)
    check("its edit made a file", made == TEXT, "%r; %s" % (made, said))
    asked = [line for line in W.log(kind="http", host="api.openai.com") if line["line"].startswith("POST /v1/chat/")]
    check("it asked its model, by its real name", asked and all(line["sni"] == "api.openai.com" for line in asked), asked)
    done, _ = prompt("aider", env=env, words=words, text="/run " + FETCH)
    check("a command of its user gets the refusal", REFUSED % 80 in done.stdout, done.stdout)


main()
