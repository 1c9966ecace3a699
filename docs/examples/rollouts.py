"""Rollouts in parallel, with a reward for each: what a trainer does with the programs that its model wrote.

Each program runs with its tests in a jail of its own; one that fails, hangs or eats memory costs its own reward and nothing else.
"""
import agentjail

TASKS = [{"prompt": f"add {n} to a number", "tests": f"assert f(1) == {1 + n}\nassert f(-{n}) == 0"} for n in range(16)]


def sample(task: dict[str, str], attempt: int) -> str:
    """Stands for the model: good programs, a wrong one, one that never ends, one that does not parse."""
    n = task["prompt"].split()[1]
    return [f"def f(x):\n    return x + {n}\n", f"def f(x):\n    return x - {n} - 1\n", "def f(x):\n    while True: pass\n", "def f(x) return\n"][attempt]


def reward(result: agentjail.Result) -> float:
    """The supervisor's facts decide, and no word of the program's own."""
    return {"ok": 1.0, "timeout": -0.5}.get(result.status, 0.0)


def main() -> list[float]:
    jail = agentjail.Jail(timeout=0.5)
    programs = [sample(task, attempt) + task["tests"] for task in TASKS for attempt in range(4)]
    rewards = [reward(result) for result in jail.map(programs, workers=16)]
    print(f"{len(rewards)} rollouts, {sum(r > 0 for r in rewards)} solved, mean reward {sum(rewards) / len(rewards):.3f}")
    return rewards


if __name__ == "__main__":
    main()
