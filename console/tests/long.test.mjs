/** A real session of some thousand events: opening it, and looking at its parts, replays its journal once. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { PATIENCE, World } from './support.mjs';

/** Each message has twelve steps, and each twentieth waits for a person instead. */
const MESSAGES = 100;

let world;
let records;

/** The number of records that the server has replayed since its start. */
async function replayed() {
  const response = await fetch(`${world.address}/metrics`, { headers: { authorization: `Bearer ${world.token}` } });
  return Number(/^obelus_replayed_records_total (\d+)$/m.exec(await response.text())[1]);
}

before(async () => {
  world = await World.start();
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
