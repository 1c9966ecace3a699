"""Stand-ins for the APIs of model vendors, as far as the coding agents of this folder use them: a model that follows a script.
It writes the file that the prompt names by the agent's own tool, fetches a host that is not allowed, and ends with what that fetch said. Asked to greet, it greets."""

import base64
import json
import re

MADE = "made.txt"
GREET, GREETING = "please greet", "Hello from the **stand-in**:\n\n- one\n- two\n\n```python\nprint('\u20ac')\n```"
TEXT = "written by the agent\n"
FORBIDDEN = "https://forbidden.example.org/"
PROMPT = "please make the file %s now"
HOSTS = ("api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com", "auth.openai.com")
FETCH = "curl -sS --max-time 20 %s; echo \"curl ended with $?\"; curl -sS --max-time 20 %s" % (FORBIDDEN, FORBIDDEN.replace("https", "http"))


def answer(host, path, body):
    """(status, content type, body) of a request to a vendor's host; None: not one of these."""
    if host == "api.anthropic.com" and path.startswith("/v1/messages"):
        return anthropic(path, json.loads(body or b"{}"))
    if host == "api.openai.com" and path.startswith("/v1/responses") and body:  # a GET asks for a WebSocket first
        return openai(json.loads(body))
    if host == "api.openai.com" and path.startswith("/v1/chat/completions"):
        return chat(json.loads(body or b"{}"))
    if host == "generativelanguage.googleapis.com" and "enerateContent" in path:
        return gemini(path, json.loads(body or b"{}"))
    if host == "auth.openai.com" and path == "/oauth/token":
        return sign_in()
    return ("404 Not Found", "application/json", b'{"error":{"type":"not_found_error","message":"no such page"}}') if host in HOSTS else None


def sign_in():
    """What a code is exchanged for."""
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    claims = {"email": "ann@example.org", "exp": 4102444800, "https://api.openai.com/auth": {"chatgpt_account_id": "a", "chatgpt_user_id": "u", "chatgpt_plan_type": "plus"}}
    token = ".".join((part({"alg": "none", "typ": "JWT"}), part(claims), "x"))
    return "200 OK", "application/json", json.dumps({"id_token": token, "access_token": token, "refresh_token": "r", "expires_in": 3600, "token_type": "Bearer"}).encode()


def place(asked):
    """The file that the prompt wants, as the agent sent the prompt on: PROMPT says it."""
    return re.search(PROMPT.replace("%s", "([^ \"]+)"), json.dumps(asked))[1]


def events(rows):
    return b"".join((b"event: %s\n" % row["type"].encode() if "type" in row else b"") + b"data: %s\n\n" % json.dumps(row).encode() for row in rows)


# --- Anthropic's messages: Claude Code, opencode ---

def anthropic(path, asked):
    if "count_tokens" in path:
        return "200 OK", "application/json", b'{"input_tokens":10}'
    tools = {tool["name"].lower(): tool for tool in asked.get("tools", [])}
    results = [part for message in asked["messages"] if isinstance(message["content"], list) for part in message["content"] if part.get("type") == "tool_result"]
    if not {"write", "bash"} <= tools.keys():  # a side question, such as the title of the conversation
        block = {"type": "text", "text": "a title"}
    elif GREET in json.dumps(asked["messages"]):
        block = {"type": "text", "text": GREETING}
    elif not results:
        path_key = next(key for key in tools["write"]["input_schema"]["properties"] if "path" in key.lower())
        block = {"type": "tool_use", "id": "toolu_1", "name": tools["write"]["name"], "input": {path_key: place(asked), "content": TEXT}}
    elif len(results) == 1:
        block = {"type": "tool_use", "id": "toolu_2", "name": tools["bash"]["name"], "input": {"command": FETCH, "description": "Fetch a page"}}
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


# --- OpenAI's responses: codex ---

def message(text):
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}


def call(number, command):
    script = "const r = await tools.exec_command({cmd: %s}); text(r.output ?? JSON.stringify(r))" % json.dumps(command)
    return {"type": "custom_tool_call", "id": "ctc_%d" % number, "call_id": "call_%d" % number, "name": "exec", "input": script, "status": "completed"}


def openai(asked):
    results = [item for item in asked.get("input", []) if item.get("type") == "custom_tool_call_output"]
    if GREET in json.dumps(asked.get("input", "")):
        item = message(GREETING)
    elif not results:
        item = call(0, "printf '%s' > %s" % (TEXT.replace("\n", "\\n"), place(asked)))
    elif len(results) == 1:
        item = call(1, FETCH)
    else:
        item = message("The fetch said: " + text_of(results[-1]["output"]))
    response = {"id": "resp_1", "object": "response", "created_at": 0, "model": asked.get("model", "m"), "output": [], "status": "in_progress"}
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20}
    return "200 OK", "text/event-stream", events([
        {"type": "response.created", "response": response},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": dict(response, status="completed", output=[item], usage=usage)}])


# --- OpenAI's chat: aider, whose edits are text ---

def chat(asked):
    text = "%s\n```\n%s```\n" % (MADE, TEXT)
    row = {"id": "chatcmpl-1", "created": 0, "model": asked.get("model", "m")}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    if not asked.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return "200 OK", "application/json", json.dumps(dict(row, object="chat.completion", choices=[choice], usage=usage)).encode()
    row["object"] = "chat.completion.chunk"
    return "200 OK", "text/event-stream", events([
        dict(row, choices=[{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]),
        dict(row, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], usage=usage)]) + b"data: [DONE]\n\n"


# --- Gemini's contents: Gemini CLI ---

def gemini(path, asked):
    tools = {function["name"] for tool in asked.get("tools", []) for function in tool.get("functionDeclarations", [])}
    results = [part["functionResponse"] for content in asked.get("contents", []) for part in content.get("parts", []) if "functionResponse" in part]
    if not {"write_file", "run_shell_command"} <= tools:
        part = {"text": "{}"}  # a side question, with a schema for its answer
    elif not results:
        part = {"functionCall": {"name": "write_file", "args": {"file_path": place(asked), "content": TEXT}}}
    elif len(results) == 1:
        part = {"functionCall": {"name": "run_shell_command", "args": {"command": FETCH, "description": "Fetch a page"}}}
    else:
        part = {"text": "The fetch said: " + json.dumps(results[-1]["response"])}
    row = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
           "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}, "modelVersion": "m"}
    if "stream" in path:
        return "200 OK", "text/event-stream", events([row])
    return "200 OK", "application/json", json.dumps(row).encode()
