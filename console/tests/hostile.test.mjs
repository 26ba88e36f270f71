/** Texts of models, pages and records are shown as plain text everywhere. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { decide, PATIENCE, World } from './support.mjs';

let world;
let page;

before(async () => {
  world = await World.start();
  page = await world.page();
  await world.api('POST', '/sessions', { agent: 'hostile', id: 'hostile', lang: 'en' });
  const text = "<script>window.hacked='user'</script> \u202Eabc <b>bold</b>";
  await world.api('POST', '/sessions/hostile/messages', { text, wait: true });
}, { timeout: PATIENCE * 3 });
after(() => world?.stop());

/** Direction marks and other characters that hide or mislead. */
const MISLEADING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u;

const PLACES = [
  [],
  ['inbox'],
  ['inbox', 'hostile:q1'],
  ['agents'],
  ['agents', 'hostile'],
  ...['chat', 'plan', 'state', 'timeline', 'instances', 'log'].map((tab) => ['s', 'hostile', tab]),
];

/** What opens on these places, and how. */
const PARTS = [
  ['the form for an edit', ['s', 'hostile', 'chat'], async () => {
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.locator('article input:disabled').waitFor();
    assert.equal(await page.locator('article input:disabled').inputValue(), 'too long to be changed here');
  }],
  ['details of the question', ['s', 'hostile', 'chat'], () => page.locator('article summary').first().click()],
  ['a step', ['s', 'hostile', 'plan'], () => page.getByRole('button', { name: 'List' }).click().then(() => page.locator('button.head').last().click())],
  ['a value between steps', ['s', 'hostile', 'plan'], () => page.getByRole('button', { name: 'List' }).click().then(() => page.locator('button.path').last().click())],
  ['a value of the state', ['s', 'hostile', 'state'], () => page.locator('.body ul li button').last().click()],
  ['changes of the state', ['s', 'hostile', 'state'], () => page.getByLabel('Show').selectOption('0')],
  ['a fork', ['s', 'hostile', 'timeline'], () => page.getByRole('button', { name: 'Look at this point' }).last().click()],
  ['a record of the log', ['s', 'hostile', 'log'], () => page.locator('.body summary').last().click()],
  ['the list of places', [], () => page.keyboard.press('Control+k')],
];

for (const [name, place, open] of [...PLACES.map((place) => [`/${place.join('/')}`, place, () => undefined]), ...PARTS]) {
  test(`hostile texts are text: ${name}`, async () => {
    await world.open(page, ...place);
    await page.reload();
    await page.locator('main').waitFor();
    await page.getByText('Loading…').first().waitFor({ state: 'hidden' });
    await page.waitForTimeout(1500);
    await open();
    await page.waitForTimeout(500);
    const seen = await page.evaluate(() => ({
      hacked: window.hacked ?? null,
      text: `${document.title} ${document.body.innerText}`,
      made: document.querySelectorAll('body script:not([src]), b[onclick], img[src="x"], a[href^="javascript"], svg[onload]').length,
    }));
    assert.equal(seen.hacked, null);
    assert.equal(seen.made, 0);
    assert.ok(!MISLEADING.test(seen.text), 'no direction marks reach the page');
    assert.ok(seen.text.length < 200_000, `endless lines are cut: ${seen.text.length}`);
    await page.keyboard.press('Escape');
  });
}

test('markup of the user and the model is shown as it was written, and long words can be read on', async () => {
  await world.open(page, 's', 'hostile', 'chat');
  await page.getByText("<script>window.hacked='user'</script> \\u{202e}abc <b>bold</b>").last().waitFor();
  await page.locator('.chat .items').getByText("<h1>Hello</h1><script>window.hacked='words'</script>").waitFor();
  await page.getByText('after reading «read page», not trusted').first().waitFor();
  await page.getByRole('button', { name: /show more/ }).first().click();
  assert.equal(await page.evaluate(() => window.hacked ?? null), null);
  const isWide = await page.evaluate(() => document.querySelector('main').scrollWidth > document.querySelector('main').clientWidth);
  assert.equal(isWide, false, 'endless words are broken');
});

test('an error of a tool with markup is text', async () => {
  await world.open(page, 's', 'hostile', 'chat');
  await decide(page, () => page.locator('article.question.open').getByRole('button', { name: 'Approve', exact: true }).click());
  await page.getByText("<svg onload=\"window.hacked='reply'\"></svg>").first().waitFor();
  assert.equal(await page.evaluate(() => window.hacked ?? null), null);
  assert.deepEqual(page.faults.filter((fault) => /Content Security Policy/.test(fault)), []);
});
