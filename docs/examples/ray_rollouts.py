"""Rollouts on all machines of a Ray cluster, each in a jail of its own; then a session, which stays on its machine.

Start Ray on each machine with the number of jails that it may have: ray start ... --resources='{"jails": 64}'
"""
import agentjail.ray
from rollouts import TASKS, reward, sample


def bonus(points: int) -> int:
    """A tool. Ray takes it to the machines, and it runs there."""
    return 2 * points


def main() -> None:
    programs = [sample(task, attempt) + task["tests"] for task in TASKS for attempt in range(4)]
    with agentjail.ray.connect(timeout=2, tools=[bonus]) as jails:
        # A program changes nothing outside its jail, so another machine may run it again when one dies.
        rewards = [reward(result) for result in jails.map(programs, retries=2)]
        print(f"{len(rewards)} rollouts, {sum(r > 0 for r in rewards)} solved, mean reward {sum(rewards) / len(rewards):.3f}")
        with jails.session() as session:
            session.run("total = bonus(20)")
            print("the session's total:", session.run("total += bonus(1); total").value)


if __name__ == "__main__":
    main()
