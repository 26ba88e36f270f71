/**
 * Real sessions of the server: one of some thousand events, which is replayed once when it is opened, and a plan of 500 steps, of
 * which those in sight are drawn.
 */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { PATIENCE, World } from './support.mjs';

/** Each message has twelve steps, and each twentieth waits for a person instead. */
const MESSAGES = 100;

/** The plan has chains of this many steps. */
const STEPS = 500;
const CHAIN = 10;

let world;
let records;

/** The rule of a playbook with the plan, as JSON, which is YAML too. */
function planRule() {
  const calls = Array.from({ length: STEPS }, (_, n) => ({ _tool: 'add', number: n, to: n % CHAIN ? `†state.s${n - 1}` : 0, _outputPath: `†state.s${n}` }));
  return `- ${JSON.stringify({ name: 'the plan', answer: { say: 'This is the plan.', calls } })}\n`;
}

/** The number of records that the server has replayed since its start. */
async function replayed() {
  const response = await fetch(`${world.address}/metrics`, { headers: { authorization: `Bearer ${world.token}` } });
  return Number(/^obelus_replayed_records_total (\d+)$/m.exec(await response.text())[1]);
}

before(async () => {
  world = await World.start({ prepare: (agents) => fs.appendFileSync(path.join(agents, 'many/playbook.yaml'), planRule()) });
  await world.api('POST', '/sessions', { agent: 'counts', id: 'long', lang: 'en' });
  for (let number = 1; number < MESSAGES; number += 1) {
    const isNote = number % 20 === 10;
    await world.api('POST', '/sessions/long/messages', { text: isNote ? `write ${number}` : `line ${number}`, wait: true });
    if (isNote) await world.api('POST', `/questions/long:q${(number + 10) / 20}/answer`, { decision: 'approve' });
  }
  await world.kill();
  await world.serve();
  // The server restores the session for the last message, before anything is counted.
  await world.api('POST', '/sessions/long/messages', { text: `line ${MESSAGES}`, wait: true });
  records = (await world.api('GET', '/sessions')).sessions.find((row) => row.id === 'long').records;
}, { timeout: PATIENCE * 6 });
after(() => world?.stop());

test('opening a session of thousands of events replays its journal once, and its other screens do not repeat that', async (t) => {
  const before = await replayed();
  const page = await world.page();
  const began = Date.now();
  await world.open(page, 's', 'long', 'chat');
  await page.locator('.chat .items').getByText(`Counted: line ${MESSAGES}.`).waitFor();
  t.diagnostic(`opened in ${Date.now() - began} ms`);
  await page.locator('article.question').first().waitFor();
  for (const tab of ['Timeline', 'State', 'Log', 'Plan', 'Chat']) {
    await page.getByRole('link', { name: tab, exact: true }).click();
    await page.locator('.body p[role=status].quiet').waitFor({ state: 'hidden' });
  }
  await page.locator('.chat .items').getByText(`Counted: line ${MESSAGES}.`).waitFor();
  const count = (await replayed()) - before;
  t.diagnostic(`${records} records, ${count} replayed`);
  assert.ok(records > 1000, `${records} records`);
  assert.ok(count <= records + 20, `${count} of ${records} records were replayed`);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('a question above what is read grows as it is loaded, and does not move what is read', async () => {
  const page = await world.page();
  const held = [];
  await page.route(/\/questions\/long%3Aq\d/, (route) => held.push(route));
  await world.open(page, 's', 'long', 'chat');
  await page.locator('.chat .items').getByText(`Counted: line ${MESSAGES}.`).waitFor();
  const before = await page.evaluate(async () => {
    const scroller = document.querySelector('.chat .scroll');
    const frame = () => new Promise((done) => requestAnimationFrame(() => done()));
    while (!document.querySelector('.items .room')) {
      scroller.scrollTop = 300;
      await frame();
    }
    // The question is just above what is in sight, with one item between.
    const items = [...document.querySelectorAll('[data-item]')];
    const place = items.findIndex((item) => item.querySelector('.room'));
    items[place + 2].scrollIntoView({ block: 'start' });
    for (let more = 0; more < 3; more += 1) await frame();
    window.mark = items[place + 3];
    window.question = items[place];
    return { top: window.mark.getBoundingClientRect().top, height: window.question.offsetHeight };
  });
  await page.unroute(/\/questions\/long%3Aq\d/);
  await Promise.all(held.map((route) => route.continue().catch(() => undefined)));
  await page.waitForFunction((height) => window.question.querySelector('article') && window.question.offsetHeight !== height, before.height);
  const now = await page.evaluate(() => window.mark.getBoundingClientRect().top);
  assert.ok(Math.abs(now - before.top) <= 2, `it moved from ${before.top} to ${now}`);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('what came since is replayed alone, and events are those of the journal', async () => {
  const all = async () => {
    const events = [];
    for (let after; ; ) {
      const part = await world.api('GET', `/sessions/long/timeline?limit=1000${after ? `&after=${after}` : ''}`);
      events.push(...part.events);
      if (!part.next) return events;
      after = part.next;
    }
  };
  const first = await all();
  assert.ok(first.length > 2000, `${first.length} events`);
  const before = await replayed();
  await world.api('POST', '/sessions/long/messages', { text: 'one more', wait: true });
  const later = await all();
  assert.deepEqual(later.slice(0, first.length), first);
  assert.equal(later[first.length].text, 'one more');
  const { records: now } = (await world.api('GET', '/sessions')).sessions.find((row) => row.id === 'long');
  const count = (await replayed()) - before;
  assert.ok(count <= (now - records) * 2 + 20, `${count} records were replayed for ${now - records} new ones`);
});

test('a session that was removed and made again has its own events', async () => {
  await world.api('POST', '/sessions', { agent: 'counts', id: 'again', lang: 'en' });
  await world.api('POST', '/sessions/again/messages', { text: 'the first', wait: true });
  const told = async () => JSON.stringify(await world.api('GET', '/sessions/again/timeline?limit=1000'));
  assert.match(await told(), /the first/);
  await world.api('DELETE', '/sessions/again');
  await assert.rejects(told(), /404/);
});

/** Frame times while `act` runs, for people; nothing is asserted about them. */
async function frames(page, act) {
  await page.evaluate(() => {
    window.times = [];
    let last = performance.now();
    const look = (now) => {
      window.times.push(now - last);
      last = now;
      window.frame = requestAnimationFrame(look);
    };
    window.frame = requestAnimationFrame(look);
  });
  await act();
  const times = await page.evaluate(() => (cancelAnimationFrame(window.frame), window.times.slice(1).sort((a, b) => a - b)));
  const at = (share) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0);
  return `${times.length} frames, median ${at(0.5)} ms, 95 % within ${at(0.95)} ms, longest ${at(1)} ms`;
}

test('a plan of 500 steps is drawn where it is in sight, is moved and zoomed, and shows each step as it is done', async (t) => {
  await world.api('POST', '/sessions', { agent: 'many', id: 'many', lang: 'en' });
  await world.api('POST', '/sessions/many/messages', { text: 'Add all', wait: true });
  const page = await world.page();
  await world.open(page, 's', 'many', 'chat');
  await page.getByRole('button', { name: `Approve all (${STEPS})` }).waitFor();
  assert.ok((await page.locator('article.question li').count()) <= 10, 'the card shows the first steps');

  const began = Date.now();
  await page.getByRole('link', { name: 'Plan', exact: true }).click();
  const nodes = page.locator('.svelte-flow__node');
  await nodes.first().waitFor();
  t.diagnostic(`drawn in ${Date.now() - began} ms`);
  await page.getByText(`waits for a decision ${STEPS}`).waitFor();
  const atFirst = await nodes.count();
  assert.ok(atFirst > 0 && atFirst <= 150, `${atFirst} nodes are drawn`);

  const view = await page.locator('.svelte-flow').boundingBox();
  const [x, y] = [view.x + view.width / 2, view.y + view.height / 2];
  const place = () => page.locator('.svelte-flow__viewport').evaluate((element) => element.style.transform);
  const seen = () => nodes.evaluateAll((all) => all.map((node) => node.dataset.id).sort().join());
  const [placeBefore, seenBefore] = [await place(), await seen()];
  await page.mouse.move(x, y - 200);
  t.diagnostic(`moving: ${await frames(page, async () => {
    await page.mouse.down();
    await page.mouse.move(x - view.width, y - 200, { steps: 30 });
    await page.mouse.move(x - view.width * 1.2, y - view.height, { steps: 30 });
    await page.mouse.up();
  })}`);
  assert.notEqual(await place(), placeBefore, 'it has moved');
  assert.notEqual(await seen(), seenBefore, 'other steps are in sight');
  assert.ok((await nodes.count()) <= 150, `${await nodes.count()} nodes are drawn after moving`);

  const width = async () => (await nodes.first().boundingBox()).width;
  const widthBefore = await width();
  await page.mouse.move(x, y);
  t.diagnostic(`zooming: ${await frames(page, async () => {
    for (let turn = 0; turn < 10; turn += 1) await page.mouse.wheel(0, 100);
  })}`);
  await page.waitForFunction((before) => document.querySelector('.svelte-flow__node')?.getBoundingClientRect().width < before, widthBefore);
  t.diagnostic(`all in sight: ${await frames(page, async () => {
    await page.getByRole('button', { name: 'Fit the view' }).click();
    await page.waitForFunction((count) => document.querySelectorAll('.svelte-flow__node').length === count, STEPS);
  })}`);
  assert.equal(await page.locator('.svelte-flow__edge').count(), STEPS - STEPS / CHAIN);

  await page.waitForTimeout(500);
  const placeAll = await place();
  const approved = Date.now();
  await world.api('POST', '/questions/many:q1/answer', { decision: 'approve' });
  await page.getByText(`done ${STEPS}`).waitFor();
  await page.waitForFunction((count) => document.querySelectorAll('.svelte-flow__node[aria-label*=", done"]').length === count, STEPS);
  t.diagnostic(`${STEPS} steps done and shown after ${Date.now() - approved} ms`);
  assert.equal(await place(), placeAll, 'the view stays when the plan begins');
  if (process.env.OBELUS_SHOTS) await page.screenshot({ path: `${process.env.OBELUS_SHOTS}/many-wide-light.png` });
  await page.getByRole('button', { name: 'List' }).click();
  await page.locator('ol li button.head').nth(9).click();
  await page.getByRole('complementary').getByText('†state.s8').first().waitFor();
  const values = await world.api('GET', '/sessions/many/state/values');
  assert.equal(values.values.filter((value) => value.value === CHAIN).length, STEPS / CHAIN, 'the last step of each chain has its sum');
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
