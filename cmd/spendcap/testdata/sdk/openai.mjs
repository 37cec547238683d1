import assert from "node:assert/strict";
import OpenAI from "openai";
import { ask, edge, lossy, once, refused } from "./common.mjs";

const client = new OpenAI({ baseURL: `${edge}/api/v1`, apiKey: "none" });
const request = { model: "demo-small", messages: ask };

assert.deepEqual((await client.models.list()).data.map((m) => m.id), ["demo-small"]);

const answer = await client.chat.completions.create(request);
assert.ok(answer.choices[0].message.content.length > 0);
assert.equal(answer.choices[0].finish_reason, "stop");
assert.ok(answer.usage.prompt_tokens > 0 && answer.usage.completion_tokens > 0);

let text = "", usage;
for await (const chunk of await client.chat.completions.create({ ...request, stream: true, stream_options: { include_usage: true } })) {
  text += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}
assert.equal(text, answer.choices[0].message.content);
assert.equal(usage.completion_tokens, answer.usage.completion_tokens);

const tools = [{ type: "function", function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } } }];
const call = await client.chat.completions.create({ ...request, tools, tool_choice: "required" });
assert.equal(call.choices[0].finish_reason, "tool_calls");
assert.equal(call.choices[0].message.tool_calls[0].function.name, "get_weather");

const far = new OpenAI({ baseURL: `${lossy}/api/v1`, apiKey: "none" });
await once(() => far.chat.completions.create(request, { headers: { "Idempotency-Key": "openai-node" } }));
await refused(() => client.chat.completions.create(request));
