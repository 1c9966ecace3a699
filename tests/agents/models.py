"""Stand-ins for the APIs of model vendors, as far as two coding agents use them: a model that follows a script.
It writes a file by the agent's own tool, fetches a host that is not allowed, and ends with what that fetch said. Asked to greet, it greets."""

import json

MADE = "made.txt"
GREET, GREETING = "please greet", "Hello from the **stand-in**:\n\n- one\n- two\n\n```python\nprint('\u20ac')\n```"
FORBIDDEN = "https://forbidden.example.org/"
FETCH = "curl -sS --max-time 20 %s; echo \"curl ended with $?\"; curl -sS --max-time 20 %s" % (FORBIDDEN, FORBIDDEN.replace("https", "http"))


def answer(host, path, body):
    """(status, content type, body) of a request to a vendor's host; None: not one of these."""
    if host == "api.anthropic.com" and path.startswith("/v1/messages"):
        return anthropic(path, json.loads(body or b"{}"))
    if host == "api.openai.com" and path.startswith("/v1/responses") and body:  # a GET asks for a WebSocket first
        return openai(json.loads(body or b"{}"))
    return ("404 Not Found", "application/json", b'{"error":{"type":"not_found_error","message":"no such page"}}') if host in ("api.anthropic.com", "api.openai.com") else None


def events(rows):
    return b"".join(b"event: %s\ndata: %s\n\n" % (row["type"].encode(), json.dumps(row).encode()) for row in rows)


# --- Anthropic's messages ---

def anthropic(path, asked):
    if "count_tokens" in path:
        return "200 OK", "application/json", b'{"input_tokens":10}'
    tools = {tool["name"] for tool in asked.get("tools", [])}
    results = [part for message in asked["messages"] if isinstance(message["content"], list) for part in message["content"] if part.get("type") == "tool_result"]
    if not {"Write", "Bash"} <= tools:  # a side question, such as the title of the conversation
        block = {"type": "text", "text": "a title"}
    elif GREET in json.dumps(asked["messages"]):
        block = {"type": "text", "text": GREETING}
    elif not results:
        block = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {"file_path": "/workspace/" + MADE, "content": "written by the agent\n"}}
    elif len(results) == 1:
        block = {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {"command": FETCH, "description": "Fetch a page"}}
    else:
        block = {"type": "text", "text": "The fetch said: " + text_of(results[-1]["content"])}
    usage = {"input_tokens": 10, "output_tokens": 10}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.get("model", "m"), "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
    if not asked.get("stream"):
        return "200 OK", "application/json", json.dumps(dict(message, content=[block], stop_reason=stop)).encode()
    if block["type"] == "tool_use":
        start, delta = dict(block, input={}), {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    return "200 OK", "text/event-stream", events([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"}])


def text_of(content):
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


# --- OpenAI's responses ---

def message(text):
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}


def openai(asked):
    results = [item for item in asked.get("input", []) if item.get("type") == "custom_tool_call_output"]
    commands = ["printf 'written by the agent\\n' > " + MADE, FETCH]
    if GREET in json.dumps(asked.get("input", "")):
        item = message(GREETING)
    elif len(results) < len(commands):
        script = "const r = await tools.exec_command({cmd: %s}); text(r.output ?? JSON.stringify(r))" % json.dumps(commands[len(results)])
        item = {"type": "custom_tool_call", "id": "ctc_%d" % len(results), "call_id": "call_%d" % len(results), "name": "exec", "input": script, "status": "completed"}
    else:
        item = message("The fetch said: " + text_of(results[-1]["output"]))
    response = {"id": "resp_1", "object": "response", "created_at": 0, "model": asked.get("model", "m"), "output": [], "status": "in_progress"}
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20}
    return "200 OK", "text/event-stream", events([
        {"type": "response.created", "response": response},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": dict(response, status="completed", output=[item], usage=usage)}])
