/** The playground of an agent, and pictures of what an agent sees. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { accessibilityFaults, PATIENCE, World } from './support.mjs';

let world;

before(async () => {
  world = await World.start();
}, { timeout: PATIENCE * 3 });
after(() => world?.stop());

test('the playground has a field for each part of the input, and the sentences of the agent', async () => {
  const page = await world.page();
  await world.open(page, 'agents', 'trips');
  await page.getByLabel('City').fill('Pskov');
  await page.getByRole('button', { name: 'Make a plan' }).click();
  const begin = page.getByRole('button', { name: 'Begin a session' });
  await begin.click();
  await page.getByText('This needs a fitting value.').waitFor();
  await page.getByLabel('Days').fill('3');
  await page.getByLabel('Class').selectOption({ label: 'second' });
  assert.deepEqual(await accessibilityFaults(page), []);
  const made = page.waitForRequest((request) => request.method() === 'POST' && /\/sessions(\?|$)/.test(request.url()));
  await begin.click();
  assert.deepEqual((await made).postDataJSON().input, { city: 'Pskov', days: 3, class: 'second' });
  await page.waitForURL(/#\/s\/.+\/chat/);
  await page.getByText('The plan is made.').first().waitFor();
  const [, session] = /#\/s\/(.+)\/chat/.exec(page.url());
  assert.match(JSON.stringify(await world.api('GET', `/sessions/${session}/messages`)), /Pskov/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('an input that does not fit, or that the agent has no schema for, is refused', async () => {
  const create = (agent, input) => world.api('POST', '/sessions', { agent, input });
  await assert.rejects(create('trips', { city: 'Pskov', days: 'three' }), /400/);
  await assert.rejects(create('letters', { city: 'Pskov' }), /400/);
});

test('the picture of what the agent sees is shown while it works, and opens large', async () => {
  await world.api('POST', '/sessions', { agent: 'crm', id: 'web', lang: 'en' });
  const page = await world.page();
  const events = [
    { event: 'user_said', text: 'Look at the shop' },
    { event: 'call_began', id: '1.1', call: { _tool: 'observe' }, attempt: 1 },
    { event: 'call_ended', id: '1.1', outcome: { value: { address: 'https://shop.example.test/', shot: '0001.png' } } },
    { event: 'model_asked' },
  ].map((event, index) => ({ number: `${index + 1}-0`, at: 1_790_000_000_000, ...event }));
  const body = events.map((event) => `id: ${event.number}\nevent: ${event.event}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  const picture = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  await page.route(/\/sessions\/web\/events/, (route) => (route.request().url().includes('after=0-0') ? route.fulfill({ contentType: 'text/event-stream', body }) : undefined));
  await page.route(/\/sessions\/web\/picture/, (route) => {
    assert.match(route.request().headers().authorization, /^Bearer /);
    return route.fulfill({ contentType: 'image/png', body: picture });
  });
  await world.open(page, 's', 'web', 'chat');
  await page.getByRole('button', { name: 'Open the picture large' }).click();
  await page.getByRole('dialog', { name: 'What the agent sees' }).locator('img').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('words are shown while the model writes them, and the work can be stopped', async () => {
  await world.api('POST', '/sessions', { agent: 'crm', id: 'words', lang: 'en' });
  const page = await world.page();
  const events = [
    { event: 'user_said', text: 'Look at the deals', number: '1-1' },
    { event: 'model_asked', number: '1-2' },
    { event: 'writing', text: 'There are ' },
    { event: 'writing', text: 'three deals' },
  ];
  const body = events.map((event) => `${event.number ? `id: ${event.number}\n` : ''}event: ${event.event}\ndata: ${JSON.stringify({ at: Date.now(), ...event })}\n\n`).join('');
  await page.route(/\/sessions\/words\/events/, (route) => (route.request().url().includes('after=0-0') ? route.fulfill({ contentType: 'text/event-stream', body }) : undefined));
  await world.open(page, 's', 'words', 'chat');
  await page.getByText('There are three deals').waitFor();
  const stopped = page.waitForRequest((request) => request.method() === 'POST' && /\/sessions\/words\/stop/.test(request.url()));
  await page.getByRole('button', { name: 'Stop' }).click();
  await stopped;
  await page.context().close();
});
