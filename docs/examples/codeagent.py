"""A smolagents agent whose code runs in a jail: pip install 'libagentjail[smolagents]'."""
from agentjail.smolagents import AgentjailExecutor
from smolagents import CodeAgent, InferenceClientModel, tool


@tool
def price(fruit: str) -> float:
    """The price of a fruit, from a database that only this program reaches.

    Args:
        fruit: its name
    """
    return {"apple": 0.5, "pear": 0.75}[fruit]


with CodeAgent(tools=[price], model=InferenceClientModel(), executor=AgentjailExecutor()) as agent:
    print(agent.run("What do two apples and one pear cost?"))
