"""A FastAPI application that runs visitors' Python: one session for each visitor, and a fresh jail for what needs none.

    pip install libagentjail fastapi uvicorn && uvicorn app:app
"""
import contextlib
from collections.abc import AsyncIterator

from agentjail import AsyncJail, AsyncSession, Busy, SessionEnded
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

sessions: dict[str, AsyncSession] = {}


@contextlib.asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    yield
    for session in sessions.values():
        await session.close()


app = FastAPI(lifespan=lifespan)


class Snippet(BaseModel):
    code: str


@app.post("/run")
async def run(snippet: Snippet) -> dict[str, object]:
    """In a jail that was never used."""
    try:
        result = await AsyncJail(timeout=5).run(snippet.code)
    except Busy as e:
        raise HTTPException(503, "no room", {"Retry-After": str(1 + (e.retry_ms or 0) // 1000)}) from e
    return {"status": result.status, "value": result.repr, "output": result.stdout, "error": str(result.error) if result.error else None}


@app.post("/visitors/{name}/run")
async def run_in_session(name: str, snippet: Snippet) -> dict[str, object]:
    """The session with the visitor's variables."""
    if name not in sessions:
        sessions[name] = await AsyncSession(timeout=5).open()
    try:
        result = await sessions[name].run(snippet.code)
    except SessionEnded as e:
        await sessions.pop(name).close()
        raise HTTPException(410, "the session has ended, and its variables are gone") from e
    return {"status": result.status, "value": result.repr, "output": result.stdout}
