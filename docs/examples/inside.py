"""A whole smolagents agent in a jail: model client, tools and code. One Unix socket of the host leads to its model, and to nothing else.

    agentjail run --bind "$VIRTUAL_ENV" --bind "$PWD:/work" --connect /run/model.sock \\
        --env MODEL_SOCKET=/run/model.sock -- "$VIRTUAL_ENV/bin/python" /work/inside.py
"""
import os

import httpx2
from openai import DefaultHttpxClient
from smolagents import CodeAgent, OpenAIModel, tool


@tool
def words(text: str) -> int:
    """The number of words in a text.

    Args:
        text: any text
    """
    return len(text.split())


transport = httpx2.HTTPTransport(uds=os.environ["MODEL_SOCKET"])
model = OpenAIModel("a-model", api_base="http://model/v1", api_key="none", client_kwargs={"http_client": DefaultHttpxClient(transport=transport)})
agent = CodeAgent(tools=[words], model=model, verbosity_level=0)  # its code shares the jail with it
print("answer:", agent.run("How many words has 'one two three'?"))
