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

for (const place of PLACES) {
  test(`hostile texts are text at /${place.join('/')}`, async () => {
    await world.open(page, ...place);
    await page.reload();
    await page.locator('main').waitFor();
    await page.getByText('Loading…').first().waitFor({ state: 'hidden' });
    await page.waitForTimeout(1500);
    const seen = await page.evaluate(() => ({
      hacked: window.hacked ?? null,
      text: document.body.innerText,
      made: document.querySelectorAll('main script, main h1 script, main b[onclick], main img[src="x"], main a[href^="javascript"]').length,
    }));
    assert.equal(seen.hacked, null);
    assert.equal(seen.made, 0);
    assert.ok(!MISLEADING.test(seen.text), 'no direction marks reach the page');
    assert.ok(seen.text.length < 200_000, `endless lines are cut: ${seen.text.length}`);
  });
}

test('markup of the user and the model is shown as it was written, and long words can be read on', async () => {
  await world.open(page, 's', 'hostile', 'chat');
  await page.getByText("<script>window.hacked='user'</script> \\u{202e}abc <b>bold</b>").last().waitFor();
  await page.locator('.chat .items').getByText("<h1>Hello</h1><script>window.hacked='words'</script>").waitFor();
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
