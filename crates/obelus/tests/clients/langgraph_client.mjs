// LangGraph's own client for JavaScript against `obelus serve`: every case in one process.

import assert from "node:assert/strict";
import { Client } from "@langchain/langgraph-sdk";

const { ADDRESS, ADMIN, VIEWER } = process.env;
const client = new Client({ apiUrl: ADDRESS, apiKey: ADMIN });
const AGENT = "notes";
const words = (content) => ({ messages: [{ type: "human", content }] });
const resume = (...decisions) => ({ command: { resume: { decisions } } });
const state = async (thread) => (await client.threads.getState(thread)).values.state;

async function all(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

async function asked() {
  const { thread_id: thread } = await client.threads.create({ graphId: AGENT });
  const values = await client.runs.wait(thread, AGENT, { input: words("ask Anna to call the customer") });
  assert.equal(values.__interrupt__.length, 1);
  return { thread, interrupt: values.__interrupt__[0] };
}

const refused = (promise, status) => assert.rejects(promise, (error) => error.status === status);

async function create_run_and_stream() {
  const found = await client.assistants.search({ graphId: AGENT });
  assert.deepEqual(found.map((one) => one.assistant_id), [AGENT]);
  const thread = await client.threads.create({ metadata: { team: "sales" } });
  assert.equal(thread.status, "idle");
  await refused(client.threads.create({ threadId: thread.thread_id }), 409);
  let created;
  const parts = await all(
    client.runs.stream(thread.thread_id, AGENT, {
      input: words("The customer called."),
      streamMode: ["values", "updates", "messages-tuple"],
      onRunCreated: (run) => (created = run),
    }),
  );
  assert.equal(parts[0].event, "metadata");
  assert.equal(parts.at(-1).event, "end");
  assert.equal(created.run_id, parts[0].data.run_id);
  const text = parts.filter((part) => part.event === "messages").map((part) => part.data[0]);
  const said = text.filter((chunk) => chunk.type === "AIMessageChunk").map((chunk) => chunk.content);
  assert.equal(said.join(""), "Written down.");
  const updates = parts.filter((part) => part.event === "updates");
  assert.deepEqual(updates.map((part) => Object.keys(part.data)[0]), ["model", "tools", "model"]);
  const rest = await all(
    client.runs.joinStream(thread.thread_id, created.run_id, { streamMode: ["updates"], lastEventId: updates[0].id }),
  );
  assert.deepEqual(rest.filter((part) => part.event === "updates").map((part) => part.data), updates.slice(1).map((part) => part.data));
  assert.equal((await client.runs.get(thread.thread_id, created.run_id)).status, "success");
  await client.runs.cancel(thread.thread_id, created.run_id);
}

async function confirmations() {
  const approved = await asked();
  const parts = await all(client.runs.stream(approved.thread, AGENT, { ...resume({ type: "approve" }), streamMode: "updates" }));
  assert.equal(parts.at(-1).data.status, "success");
  assert.deepEqual((await state(approved.thread)).tasks, [{ who: "Anna", what: "call the customer" }]);
  await refused(client.runs.wait(approved.thread, AGENT, resume({ type: "approve" })), 409);
  assert.equal((await state(approved.thread)).tasks.length, 1);

  const edited = await asked();
  const args = { who: "Boris", what: "call the customer" };
  const edit = { type: "edit", edited_action: { name: "add_task", args } };
  await client.runs.wait(edited.thread, AGENT, { command: { resume: { [edited.interrupt.id]: { decisions: [edit] } } } });
  assert.deepEqual((await state(edited.thread)).tasks, [args]);

  const rejected = await asked();
  await client.runs.wait(rejected.thread, AGENT, resume({ type: "reject", message: "not today" }));
  assert.deepEqual((await state(rejected.thread)).tasks, []);
}

async function history_and_fork() {
  const { thread } = await asked();
  await client.runs.wait(thread, AGENT, resume({ type: "approve" }));
  const states = await client.threads.getHistory(thread, { limit: 50 });
  assert.deepEqual(states[0], await client.threads.getState(thread));
  const waiting = states.find((one) => one.tasks.some((task) => task.interrupts.length > 0));
  assert.deepEqual(await client.threads.getState(thread, waiting.checkpoint), waiting);
  const copy = await client.threads.copy(thread);
  await client.runs.wait(thread, AGENT, { ...resume({ type: "reject" }), checkpoint: waiting.checkpoint });
  assert.deepEqual((await state(thread)).tasks, []);
  assert.equal((await state(copy.thread_id)).tasks.length, 1);
  await client.threads.updateState(copy.thread_id, { values: { state: { notes: [], tasks: [] } } });
  assert.deepEqual((await state(copy.thread_id)).tasks, []);
  await client.threads.delete(copy.thread_id);
  await refused(client.threads.get(copy.thread_id), 404);
}

async function roles() {
  const viewer = new Client({ apiUrl: ADDRESS, apiKey: VIEWER });
  const { thread } = await asked();
  assert.equal((await viewer.threads.get(thread)).status, "interrupted");
  await refused(viewer.runs.create(thread, AGENT, { input: words("x") }), 403);
  await refused(new Client({ apiUrl: ADDRESS, apiKey: "nonsense" }).threads.search(), 401);
}

for (const test of [create_run_and_stream, confirmations, history_and_fork, roles]) {
  console.log(test.name);
  await test();
}
