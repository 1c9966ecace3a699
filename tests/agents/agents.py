"""Real coding agents in jails whose network is an allow-list, with a stand-in for the model's API under its real name.
Each is given a prompt: its model has it write a file, then fetch a host that is not allowed, and the agent must say what came of it."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "egress"))
os.environ["AJ_WORLD_ANSWERS"] = os.path.join(HERE, "models.py")
import world  # noqa: E402

world.enter()
from client import AJ, FOLDER, check, main, test  # noqa: E402
from models import MADE  # noqa: E402

MODULES = os.environ["AGENTS"]  # the folder node_modules
CA = "/etc/ssl/certs/ca-certificates.crt"
W = world.World(AJ, FOLDER)
for number, name in enumerate(("api.anthropic.com", "api.openai.com", "forbidden.example.org")):
    W.name(name, "203.0.113.%d" % (7 + number))


def prompt(program, *words, env):
    """Runs the agent in an empty workspace; what it said, what agentjail said, and what is in the file that it made."""
    workspace = os.path.join(FOLDER, program)
    os.mkdir(workspace)
    os.chmod(workspace, 0o777)  # the jail's user is not root
    variables = [word for pair in env.items() for word in ("--env", "%s=%s" % pair)]
    W.forget()
    done = W.agent("run", "--policy", program, "--workspace", workspace, "--bind", MODULES + ":/opt/agents/node_modules", *variables, "--",
                   "/opt/agents/node_modules/.bin/" + program, *words)
    try:
        with open(os.path.join(workspace, MADE), encoding="utf-8") as f:
            made = f.read()
    except OSError:
        made = None
    return done, made


def judge(done, made, api):
    said = "exit %d, said %.500r, agentjail %.800r" % (done.returncode, done.stdout, done.stderr)
    check("it ends well", done.returncode == 0, said)
    check("its tool made a file", made == "written by the agent\n", "%r; %s" % (made, said))
    refused = "forbidden.example.org:%d was refused: this name is not on the jail's list"
    check("it was told that the fetch failed", "The fetch said:" in done.stdout and "alert access denied" in done.stdout and "curl ended with 35" in done.stdout, said)
    check("without TLS, the sentence that says why", refused % 80 in done.stdout, said)
    check("as the caller was", refused % 80 in done.stderr and refused % 443 in done.stderr, said)
    asked = [line for line in W.log(kind="http", host=api) if line["line"].startswith("POST /v1/")]
    check("it asked its model, by its real name", len(asked) >= 3 and all(line["sni"] == api for line in asked), asked)
    check("no other host was reached", {line["host"] for line in W.log(kind="http")} == {api} and not W.log("host", kind="tcp"), W.log())


@test
def claude_code():
    done, made = prompt("claude", "-p", "make a file", "--allowedTools", "Write,Bash",
                        env={"ANTHROPIC_API_KEY": "sk-test", "NODE_EXTRA_CA_CERTS": CA, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})
    judge(done, made, "api.anthropic.com")


@test
def codex():
    done, made = prompt("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "make a file",
                        env={"CODEX_API_KEY": "sk-test", "SSL_CERT_FILE": CA})
    judge(done, made, "api.openai.com")


main()
