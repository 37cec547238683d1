import json
import os
import urllib.request

import openai

EDGE, LOSSY = os.environ["SPENDCAP_EDGE"], os.environ["SPENDCAP_LOSSY"]


def used():
    with urllib.request.urlopen(EDGE + "/api/cap") as res:
        return json.load(res)["calls"]["used"]


client = openai.OpenAI(base_url=EDGE + "/api/v1", api_key="none")
request = {"model": "demo-small", "messages": [{"role": "user", "content": "Say hello."}]}

answer = client.chat.completions.create(**request)
assert answer.choices[0].message.content and answer.usage.prompt_tokens > 0, answer

text, usage = "", None
for chunk in client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}):
    if chunk.choices:
        text += chunk.choices[0].delta.content or ""
    usage = chunk.usage or usage
assert text == answer.choices[0].message.content, text
assert usage.completion_tokens == answer.usage.completion_tokens, usage

tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}]
call = client.chat.completions.create(**request, tools=tools, tool_choice="required")
assert call.choices[0].message.tool_calls[0].function.name == "get_weather", call

before = used()
far = openai.OpenAI(base_url=LOSSY + "/api/v1", api_key="none")
far.chat.completions.create(**request, extra_headers={"Idempotency-Key": "openai-python"})
assert used() == before + 1, used()

for _ in range(used(), 10):
    client.chat.completions.create(**request)
try:
    client.chat.completions.create(**request)
    raise SystemExit("the eleventh call was answered")
except openai.RateLimitError as err:
    assert "You have used today's 10 calls. Try again in" in str(err), err
