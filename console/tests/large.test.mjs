/**
 * Sessions of thousands of events, steps and instances. The answers of the server are generated here, because only the page is
 * tested: how much it draws, and that the scroll position is kept. Frame times are printed but not checked.
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { PATIENCE, World } from './support.mjs';

const EVENTS = 5000;
const STEPS = 500;
const INSTANCES = 10_000;

let world;

before(async () => {
  world = await World.start();
  await world.api('POST', '/sessions', { agent: 'crm', id: 'large', lang: 'en' });
}, { timeout: PATIENCE * 3 });
after(() => world?.stop());

const json = (route, body) => route.fulfill({ contentType: 'application/json', body: JSON.stringify(body) });

/** A conversation: in each turn the user writes, and the agent takes two steps and answers. */
function events() {
  const made = [];
  const add = (event) => made.push({ number: `${made.length + 1}-0`, at: 1_790_000_000_000 + made.length * 1000, ...event });
  for (let turn = 1; made.length < EVENTS; turn += 1) {
    add({ event: 'user_said', text: `Request ${turn}: look at the order and tell me what is missing` });
    for (const step of [1, 2]) {
      const line = { headline: `Look at order ${turn}`, status: 'done', is_quiet: false };
      add({ event: 'call_began', id: `${turn}.${step}`, call: { _tool: 'look' }, attempt: 1, line: { ...line, status: 'running' } });
      add({ event: 'call_ended', id: `${turn}.${step}`, outcome: { value: 1 }, line });
    }
    add({ event: 'agent_said', text: `Answer ${turn}. ${'The order has what it needs. '.repeat(turn % 7)}` });
  }
  return made;
}

/** A page whose requests are answered by these routes. */
async function pageOf(routes) {
  const page = await world.page();
  for (const [pattern, answer] of routes) await page.route(pattern, answer);
  return page;
}

const silent = [/\/sessions\/large\/events/, () => {}];

/** Statistics of the frame times during `act`. */
async function longestFrame(page, act) {
  await page.evaluate(() => {
    window.frames_ = [];
    let last = performance.now();
    const look = (now) => {
      window.frames_.push(now - last);
      last = now;
      if (window.frames_.length < 100_000) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await act();
  const frames = await page.evaluate(() => window.frames_.slice(1).sort((a, b) => a - b));
  const at = (share) => Math.round(frames[Math.min(frames.length - 1, Math.floor(frames.length * share))] ?? 0);
  return `${frames.length} frames, median ${at(0.5)} ms, 95 % within ${at(0.95)} ms, longest ${at(1)} ms`;
}

test('a conversation of 5,000 events draws its end, and reading back does not move what is read', async (t) => {
  const all = events();
  const stream = all.map((event) => `id: ${event.number}\nevent: ${event.event}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  const page = await pageOf([
    [/\/sessions\/large\/events/, (route) => (route.request().url().includes('after=0-0') ? route.fulfill({ contentType: 'text/event-stream', body: stream }) : undefined)],
  ]);
  const began = Date.now();
  await world.open(page, 's', 'large', 'chat');
  await page.getByText(/^Answer \d+/).last().waitFor();
  t.diagnostic(`opened in ${Date.now() - began} ms`);
  const drawn = await page.locator('.items > *').count();
  assert.ok(drawn <= 100, `${drawn} entries are drawn`);
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok(nodes < 3000, `${nodes} elements`);

  const moved = await page.evaluate(async () => {
    const scroller = document.querySelector('.chat .scroll');
    const frame = () => new Promise((done) => requestAnimationFrame(() => done()));
    const moves = [];
    for (let round = 0; round < 4; round += 1) {
      scroller.scrollTop = 300;
      const mark = [...document.querySelectorAll('[data-item]')].find((item) => item.getBoundingClientRect().top >= 200);
      const before = mark.getBoundingClientRect().top;
      const count = document.querySelectorAll('[data-item]').length;
      while (document.querySelectorAll('[data-item]').length === count) await frame();
      for (let more = 0; more < 3; more += 1) await frame();
      moves.push(Math.abs(mark.getBoundingClientRect().top - before));
    }
    return moves;
  });
  assert.ok(moved.every((distance) => distance <= 2), `what is read moved by ${moved} pixels`);
  const told = await longestFrame(page, async () => {
    for (let turn = 0; turn < 20; turn += 1) await page.locator('.chat .scroll').evaluate((scroller) => scroller.scrollBy(0, -200));
  });
  t.diagnostic(`scrolling: ${told}`);
  await page.context().close();
});

/** A plan in which each tenth step begins a chain of the following ones. */
function graph(running) {
  const nodes = Array.from({ length: STEPS }, (_, index) => ({
    id: `1.${index}`,
    headline: `Step ${index}`,
    title: `Step ${index}`,
    tool: 'work',
    status: index < running ? 'done' : index === running ? 'running' : 'blocked',
    params: { number: index },
    proposed: { number: index },
    writes: [`†state.s${index}`],
  }));
  const edges = nodes.flatMap((node, index) =>
    index % 10 === 0 ? [] : [{ from: `1.${index - 1}`, to: node.id, path: `†state.s${index - 1}`, origins: [], is_cut: false, value: null }],
  );
  return { session: 'large', nodes, edges, left_out: 0, steps: null };
}

test('a plan of 500 steps draws again only what has changed', async (t) => {
  let running = 100;
  let open;
  const page = await pageOf([
    [/\/sessions\/large\/graph/, (route) => json(route, graph(running))],
    [/\/sessions\/large\/events/, (route) => (open ??= route)],
  ]);
  const began = Date.now();
  await world.open(page, 's', 'large', 'plan');
  await page.locator('.svelte-flow__node').first().waitFor();
  t.diagnostic(`drawn in ${Date.now() - began} ms`);
  const nodes = await page.locator('.svelte-flow__node').count();
  assert.ok(nodes <= 150, `of a graph that is too large to be read as a whole a part is drawn first: ${nodes} nodes`);
  await page.getByText('Step 100', { exact: true }).waitFor();
  await page.evaluate(() => {
    window.changed = new Set();
    const watch = new MutationObserver((list) => {
      for (const { target } of list) {
        const node = (target.nodeType === 1 ? target : target.parentElement)?.closest('.svelte-flow__node');
        if (node) window.changed.add(node.dataset.id);
      }
    });
    watch.observe(document.querySelector('.svelte-flow__nodes'), { subtree: true, childList: true, attributes: true, characterData: true });
  });
  running = 102;
  await open.fulfill({ contentType: 'text/event-stream', body: 'event: moved\ndata: {}\n\n' });
  await page.getByText('done 102').waitFor();
  await page.waitForTimeout(300);
  const changed = await page.evaluate(() => [...window.changed]);
  assert.ok(changed.length <= 3, `${changed.length} nodes were drawn again`);
  const box = await page.locator('.svelte-flow').boundingBox();
  const told = await longestFrame(page, async () => {
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    for (let turn = 0; turn < 10; turn += 1) await page.mouse.wheel(0, turn < 5 ? -200 : 200);
    await page.waitForTimeout(500);
  });
  t.diagnostic(`zooming: ${told}`);
  await page.context().close();
});

test('edges to a block of many nodes pass between its nodes', async () => {
  const [first, last] = ['1.0', '1.25'];
  const middle = Array.from({ length: 24 }, (_, index) => `1.${index + 1}`);
  const nodes = [first, ...middle, last].map((id) => ({ id, headline: id, title: id, tool: 'work', status: 'blocked', params: {}, proposed: {}, writes: [] }));
  const edge = (from, to) => ({ from, to, path: '†state.a', origins: [], is_cut: false, value: null });
  const edges = middle.flatMap((id) => [edge(first, id), edge(id, last)]);
  const page = await pageOf([silent, [/\/sessions\/large\/graph/, (route) => json(route, { session: 'large', nodes, edges, left_out: 0, steps: null })]]);
  await world.open(page, 's', 'large', 'plan');
  await page.locator('.svelte-flow__edge-path').nth(47).waitFor({ state: 'attached' });
  const crossed = await page.evaluate(() => {
    const inner = [...document.querySelectorAll('.svelte-flow__node')].map((node) => node.getBoundingClientRect());
    const isIn = (x, y) => inner.some((box) => x > box.left + 4 && x < box.right - 4 && y > box.top + 4 && y < box.bottom - 4);
    return [...document.querySelectorAll('.svelte-flow__edge-path')].filter((path) => {
      const [length, matrix] = [path.getTotalLength(), path.getScreenCTM()];
      return Array.from({ length: 200 }, (_, step) => path.getPointAtLength((length * step) / 199).matrixTransform(matrix)).some(({ x, y }) => isIn(x, y));
    }).length;
  });
  assert.equal(crossed, 0, `${crossed} edges pass under nodes`);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('a call that feeds 300 others is first shown where the work is, large enough to be read, with a map of the whole', async () => {
  const branches = Array.from({ length: 300 }, (_, index) => index + 1);
  const node = (id, status) => ({ id, headline: `Step ${id}`, title: `Step ${id}`, tool: 'work', status, params: {}, proposed: {}, writes: [] });
  const edge = (from, to) => ({ from, to, path: '†state.a', origins: [], is_cut: false, value: null });
  // Each of the 300 feeds one of its own, so that no two of them have the same neighbours.
  const nodes = [node('0', 'done'), ...branches.flatMap((index) => [node(`a${index}`, index < 200 ? 'done' : index === 200 ? 'running' : 'ready'), node(`b${index}`, 'blocked')])];
  const edges = branches.flatMap((index) => [edge('0', `a${index}`), edge(`a${index}`, `b${index}`)]);
  const page = await pageOf([silent, [/\/sessions\/large\/graph/, (route) => json(route, { session: 'large', nodes, edges, left_out: 0, steps: null })]]);
  await world.open(page, 's', 'large', 'plan');
  await page.getByText('Step a200', { exact: true }).waitFor();
  const seen = await page.evaluate(() => {
    const view = document.querySelector('.svelte-flow').getBoundingClientRect();
    const isIn = (box) => box.left >= view.left && box.right <= view.right && box.top >= view.top && box.bottom <= view.bottom;
    const boxes = [...document.querySelectorAll('.svelte-flow__node')].map((one) => [one.dataset.id, one.getBoundingClientRect()]);
    const inSight = boxes.filter(([, box]) => isIn(box));
    return { width: inSight[0][1].width, ids: inSight.map(([id]) => id) };
  });
  assert.ok(seen.width >= 120, `nodes are ${seen.width} pixels wide`);
  assert.ok(seen.ids.includes('a200') && seen.ids.includes('b200'), `in sight: ${seen.ids}`);
  if (process.env.OBELUS_SHOTS) await page.screenshot({ path: `${process.env.OBELUS_SHOTS}/fan-wide-light.png` });
  const map = await page.locator('.svelte-flow .map svg').boundingBox();
  await page.mouse.click(map.x + map.width / 2, map.y + 3);
  await page.getByText('Step a200', { exact: true }).waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Fit the view' }).click();
  await page.getByText('Step b300', { exact: true }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('of 10,000 instances those in sight are drawn, also at the end', async (t) => {
  const rows = Array.from({ length: INSTANCES }, (_, index) => ({
    instance: `customer ${String(index).padStart(5, '0')}`,
    status: index % 50 === 0 ? 'failed' : 'done',
    ...(index % 50 === 0 ? { error: 'the address is missing', code: 'address' } : {}),
    calls: [{ id: `1.${index}`, headline: `Write to customer ${index}`, status: 'done' }],
  }));
  const page = await pageOf([
    silent,
    [/\/sessions\/large\/instances/, (route) => {
      const query = new URL(route.request().url()).searchParams;
      const wanted = rows.filter((row) => !query.get('status') || row.status === query.get('status'));
      const from = query.get('after') ? wanted.findIndex((row) => row.instance === query.get('after')) + 1 : 0;
      const part = wanted.slice(from, from + Number(query.get('limit')));
      const errors = [{ code: 'address', message: 'the address is missing', count: 200 }];
      return json(route, { total: rows.length, matching: wanted.length, counts: { done: 9800, failed: 200 }, errors, rows: part, next: null });
    }],
  ]);
  await world.open(page, 's', 'large', 'instances');
  await page.getByText('customer 00000').waitFor();
  const drawn = () => page.locator('[role=row]').count();
  assert.ok((await drawn()) <= 60, `${await drawn()} rows are drawn`);
  const told = await longestFrame(page, async () => {
    await page.locator('[role=table]').evaluate((table) => (table.scrollTop = table.scrollHeight));
    await page.getByText('customer 09999').waitFor();
  });
  t.diagnostic(`to the end: ${told}`);
  assert.ok((await drawn()) <= 60, `${await drawn()} rows are drawn at the end`);

  await page.getByRole('button', { name: 'Ask the agent to try 200 failed ones again' }).click();
  const words = page.getByLabel('The agent is told these words, and decides what to do again:');
  await page.waitForFunction(() => /customer 00050.* and 180 more/s.test(document.querySelector('#retry-words')?.value ?? ''));
  assert.match(await words.inputValue(), /^Try again for those that failed: customer 00000, /);
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().includes('/sessions/large/messages'));
  await page.getByRole('button', { name: 'Send to the agent' }).click();
  assert.match((await sent).postDataJSON().text, /^Try again for those that failed/);
  await page.waitForURL(/#\/s\/large\/chat/);
  await page.context().close();
});
