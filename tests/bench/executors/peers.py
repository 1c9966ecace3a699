"""The executors that are compared: each can begin, run a snippet (with a tool `add`), and end.
It measures nothing. Every executor is its package's own, used as its documentation says."""

import os
import subprocess
import sys
import textwrap

IMPORTS = ("json", "math", "re", "random", "statistics", "datetime", "itertools", "collections")
MORE_IMPORTS = ("typing", "copy", "functools", "hashlib", "heapq", "operator", "string", "sys")  # of HumanEval's programs


def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


class Executor:
    name = ""
    boundary = ""    # the wall between the code and the host; empty: none
    own_start = ""   # a program that starts it and runs one snippet, for a fresh interpreter

    def begin(self) -> None: ...
    def run(self, code: str) -> object: ...
    def end(self) -> None: ...


class BarePython(Executor):
    name, boundary = "bare python3 process", ""
    own_start = "print(1 + 1)"

    def run(self, code):
        if "add(" in code:
            code = "def add(a, b):\n    return a + b\n" + code
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
        return done.stdout


class Tinyagent(Executor):
    name, boundary = "tinyagent", ""
    own_start = "from tinyagent.agents.code_agent import PythonExecutor\nPythonExecutor().run('1 + 1')"

    def begin(self):
        from tinyagent.agents.code_agent import PythonExecutor
        self.executor = PythonExecutor(set(IMPORTS))
        self.executor._globals["add"] = add  # as TinyCodeAgent puts its tools there

    def run(self, code):
        return self.executor.run(code)


class Smolagents(Executor):
    name, boundary = "smolagents local", ""
    own_start = ("from smolagents.local_python_executor import LocalPythonExecutor\nexecutor = LocalPythonExecutor([])\n"
                 "executor.send_tools({})\nexecutor('1 + 1')")

    def begin(self):
        from smolagents.local_python_executor import LocalPythonExecutor
        self.executor = LocalPythonExecutor([*IMPORTS, *MORE_IMPORTS], timeout_seconds=None)
        self.executor.send_tools({"add": add})

    def run(self, code):
        return self.executor(code).output


class MontySession(Executor):
    name, boundary = "monty, session", "process, its own interpreter"
    own_start = ("from pydantic_monty import Monty\nwith Monty() as pool:\n    with pool.checkout() as session:\n"
                 "        session.feed_run('1 + 1')")

    def begin(self):
        from pydantic_monty import Monty
        self.pool = Monty().__enter__()
        self.checkout = self.pool.checkout(limits={"max_suspensions": 1_000_000})  # calls of tools, of which a session here makes thousands
        self.session = self.checkout.__enter__()

    def run(self, code):
        return self.session.feed_run(code, external_lookup={"add": add})

    def end(self):
        self.checkout.__exit__(None, None, None)
        self.pool.__exit__(None, None, None)


class MontyFresh(MontySession):
    name = "monty, fresh"
    own_start = ""

    def begin(self):
        from pydantic_monty import Monty
        self.pool = Monty().__enter__()

    def run(self, code):
        with self.pool.checkout() as session:
            return session.feed_run(code, external_lookup={"add": add})

    def end(self):
        self.pool.__exit__(None, None, None)


class AgentjailSession(Executor):
    name, boundary = "agentjail, session", "kernel"
    own_start = "import agentjail\nwith agentjail.Session() as session:\n    session.run('1 + 1').value"

    def begin(self):
        import agentjail
        self.service = agentjail.Service()
        self.session = agentjail.Session(tools=[add], service=self.service)

    def run(self, code):
        return self.session.run(code).raise_for_status().value

    def end(self):
        self.session.close()
        self.service.close()


class AgentjailFresh(Executor):
    name, boundary = "agentjail, fresh jail", "kernel"
    own_start = "import agentjail\nagentjail.run('1 + 1').value"

    def begin(self):
        import agentjail
        self.service = agentjail.Service()
        self.jail = agentjail.Jail(tools=[add], service=self.service)

    def run(self, code):
        return self.jail.run(code).raise_for_status().value

    def end(self):
        self.service.close()


ALL = [BarePython, Tinyagent, Smolagents, MontySession, MontyFresh, AgentjailSession, AgentjailFresh]

# Published by others for other machines, in ms and MB: read them as orders of magnitude. The sources are in docs/internals/performance.md.
PUBLISHED = {
    "smolagents in Docker": {"simple math": 150, "string operations": 180, "import heavy": 250, "100 tool calls": 200, "memory": 64},
    "E2B": {"start": 150},
    "Docker": {"start": 200},
}

CASES = {
    "simple math": "2**10 + 5",
    "string operations": textwrap.dedent("""
        words = []
        for i in range(10000):
            words.append(("Word " + str(i)).upper())
        text = "-".join(words)
        len(text)
        """),
    "import heavy": "\n".join("import " + name for name in IMPORTS) + "\njson.dumps(statistics.mean([1, 2, 3]))",
    "100 tool calls": "total = 0\nfor i in range(100):\n    total = add(total, i)\ntotal",
    "10^6 iterations": "total = 0\nfor i in range(1000000):\n    total += i\ntotal",
}
