import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { ask, edge, lossy, once, refused } from "./common.mjs";

const client = new Anthropic({ baseURL: `${edge}/api`, apiKey: "none" });
const request = { model: "demo-small", max_tokens: 200, messages: ask };

const answer = await client.messages.create(request);
assert.ok(answer.content[0].text.length > 0);
assert.equal(answer.stop_reason, "end_turn");
assert.ok(answer.usage.input_tokens > 0 && answer.usage.output_tokens > 0);

const streamed = await client.messages.stream(request).finalMessage();
assert.equal(streamed.content[0].text, answer.content[0].text);
assert.equal(streamed.usage.output_tokens, answer.usage.output_tokens);

const tools = [{ name: "get_weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }];
const call = await client.messages.create({ ...request, tools, tool_choice: { type: "any" } });
assert.equal(call.stop_reason, "tool_use");
assert.equal(call.content.find((c) => c.type === "tool_use").name, "get_weather");

const far = new Anthropic({ baseURL: `${lossy}/api`, apiKey: "none" });
await once(() => far.messages.create(request, { headers: { "Idempotency-Key": "anthropic-node" } }));
await refused(() => client.messages.create(request));
