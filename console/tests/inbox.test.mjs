/** The inbox: keys, filters, answers from other clients, and a killed server. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { decide, PATIENCE, say, World } from './support.mjs';

let world;
let page;

before(async () => {
  world = await World.start();
  page = await world.page();
  for (const [id, text] of [
    ['first', 'Change the amount of deal 1 to 100000'],
    ['second', 'Change the amount of deal 2 to 200000'],
    ['third', 'Change the amount of deal 4 to 300000'],
  ]) {
    await world.api('POST', '/sessions', { agent: 'crm', id, lang: 'en' });
    await world.api('POST', `/sessions/${id}/messages`, { text, wait: true });
  }
  await world.open(page, 'inbox');
}, { timeout: PATIENCE * 3 });
after(() => world?.stop());

const chosen = () => page.locator('.inbox a[aria-current]').getAttribute('href');

test('keys move, edit, deny and approve without a mouse', async () => {
  await page.locator('.inbox a[aria-current]').waitFor();
  const first = await chosen();
  await page.keyboard.press('j');
  await page.waitForFunction((href) => document.querySelector('.inbox a[aria-current]')?.getAttribute('href') !== href, first);
  await page.keyboard.press('k');
  await page.waitForFunction((href) => document.querySelector('.inbox a[aria-current]')?.getAttribute('href') === href, first);
  await page.keyboard.press('e');
  await page.getByRole('button', { name: 'Approve with the changes' }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.keyboard.press('d');
  await page.getByLabel(/Why not/).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Keys' }).waitFor({ state: 'hidden' });
  await decide(page, () => page.keyboard.press('a'));
  await page.getByRole('article').getByText('Approved', { exact: true }).waitFor();
});

test('a key pressed right after another acts on the question that was chosen, and right after help was closed on the card', async () => {
  await world.open(page, 'inbox');
  await page.locator('.inbox a[aria-current]').waitFor();
  const denied = await page.evaluate(async () => {
    const press = (code) => (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', { code, bubbles: true, cancelable: true }));
    const chosen = () => decodeURIComponent(document.querySelector('.inbox a[aria-current]').getAttribute('href').split('/').pop());
    const before = chosen();
    press('KeyJ');
    await Promise.resolve();
    press('KeyD');
    await Promise.resolve();
    return { before, now: chosen(), form: document.querySelector('form.deny textarea')?.id };
  });
  assert.notEqual(denied.now, denied.before);
  assert.equal(denied.form, `reason-${denied.now}`);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keys' }).waitFor();
  const isTaken = await page.evaluate(async () => {
    document.querySelector('dialog[open]').close();
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { code: 'KeyD', bubbles: true, cancelable: true }));
    await Promise.resolve();
    return document.querySelector('form.deny') !== null;
  });
  assert.ok(isTaken, 'the key was lost');
  await page.getByRole('button', { name: 'Cancel' }).click();
});

test('a key for approving does nothing while another answer is being written', async () => {
  let sent = 0;
  page.on('request', (request) => (sent += Number(/\/answer(\?|$)/.test(request.url()))));
  await page.keyboard.press('d');
  await page.getByLabel(/Why not/).evaluate((field) => field.blur());
  await page.keyboard.press('a');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  assert.equal(sent, 0);
});

test('while lists are read an answer finds a connection, and a burst of changes is read once', async () => {
  const held = [];
  await page.route(/\/api\/v1\/(questions|questions\/recent|sessions|agents)\?/, (route) => held.push(route));
  for (let turn = 0; turn < 4; turn += 1) {
    await world.api('POST', '/sessions', { agent: 'crm', id: `burst-${turn}`, lang: 'en' });
    await page.waitForTimeout(300);
  }
  assert.ok(held.length > 0 && held.length <= 2, `${held.length} requests wait`);
  await page.unroute(/\/api\/v1\/(questions|questions\/recent|sessions|agents)\?/);
  await Promise.all(held.map((route) => route.continue().catch(() => undefined)));
});

test('the palette finds a session by its words', async () => {
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').fill('deal 2');
  await page.keyboard.press('Enter');
  await page.waitForURL(/(inbox|s)\//);
});

test('an answer from elsewhere is told at once', async () => {
  const id = 'second:q1';
  await world.open(page, 'inbox', id);
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  const other = world.tokenOf('anna', 'operator');
  await world.api('POST', `/questions/${id}/answer`, { decision: 'deny', reason: 'no' }, other);
  await page.getByText(/Already answered.*anna/).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Approve', exact: true }).count(), 0);
});

test('the page goes on by itself after the server was killed', async () => {
  await world.open(page, 's', 'first', 'chat');
  await page.locator('article.question.open').waitFor();
  await world.kill();
  await page.getByText('No connection to the server').waitFor();
  await world.serve();
  await page.getByText('No connection to the server').waitFor({ state: 'hidden' });
  await decide(page, () => page.locator('article.question.open').getByRole('button', { name: 'Approve', exact: true }).click());
  await page.getByText('Approved', { exact: true }).waitFor();
  await say(page, 'Open deal 1');
  await page.getByText('I open deal 1').first().waitFor();
  const twice = await page.locator('.bubble').getByText('Change the amount of deal 1 to 100000').count();
  assert.equal(twice, 1, 'nothing is told twice');
});

test('a viewer sees questions and cannot answer', async () => {
  const viewer = await world.page({ token: world.tokenOf('eye', 'viewer') });
  await world.open(viewer, 'inbox');
  await viewer.getByRole('button', { name: 'Answered' }).click();
  await viewer.locator('.inbox ul a').first().click();
  await viewer.getByRole('article').waitFor();
  assert.equal(await viewer.getByRole('button', { name: 'Approve', exact: true }).count(), 0);
  await viewer.context().close();
});
