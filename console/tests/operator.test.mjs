/**
 * The operator at the shop of `examples/operator-shop`, with a real browser of its own: what it sees is shown while it works.
 *
 * `OBELUS_PLAYWRIGHT_MCP` names the program of Playwright MCP; the test in Rust that runs this one installs it.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { decide, PATIENCE, root, say, started, World } from './support.mjs';

let world;
let shop;
let page;
let address;

before(async () => {
  shop = spawn('python3', [path.join(root, 'examples/operator-shop/shop.py'), '0'], { stdio: 'pipe' });
  address = /http:\/\/\S+/.exec((await started(shop)).first)[0];
  world = await World.start({
    prepare: (agents) => {
      fs.cpSync(path.join(root, 'agents/operator'), path.join(agents, 'operator'), { recursive: true });
      fs.copyFileSync(path.join(root, 'examples/operator-shop/playbook.yaml'), path.join(agents, 'operator/playbook.yaml'));
      const file = path.join(agents, 'operator/agent.yaml');
      const text = fs.readFileSync(file, 'utf8').replace(/^model: .*$/m, 'model: playbook:playbook.yaml');
      fs.writeFileSync(file, text.replace(/^browser: \{\}$/m, `browser: {sites: ['${new URL(address).host}']}`));
    },
  });
  await world.api('POST', '/sessions', { agent: 'operator', id: 'web', lang: 'en' });
  page = await world.page();
  // Each picture that is drawn, and whether the agent is at work then.
  await page.addInitScript(() => {
    window.pictures = [];
    const look = ({ target }) => {
      if (target.tagName !== 'IMG') return;
      window.pictures.push({ width: target.naturalWidth, isInChat: target.closest('.items figure') !== null, isBusy: document.querySelector('.busy') !== null });
    };
    document.addEventListener('load', look, true);
  });
  await world.open(page, 's', 'web', 'chat');
  await page.getByText('Say what is to be done.').waitFor();
}, { timeout: PATIENCE * 4 });
after(async () => {
  await world?.stop();
  shop?.kill('SIGKILL');
});

test('what the operator sees is in the conversation while it works, and not afterwards', async () => {
  await say(page, `Compare the kettles on ${address}`);
  await page.getByText('I compared 9 kettles').first().waitFor({ timeout: PATIENCE * 3 });
  await page.locator('.busy').waitFor({ state: 'hidden' });
  const seen = (await page.evaluate(() => window.pictures)).filter((picture) => picture.isInChat);
  assert.ok(seen.length > 0, 'no picture was shown');
  assert.ok(seen.every((picture) => picture.isBusy && picture.width > 300), JSON.stringify(seen));
  assert.equal(await page.locator('.items figure').count(), 0);
  const steps = await page.locator('.steps').first().innerText();
  assert.ok(steps.includes('Look around') && !steps.includes('Keep what was learnt'), `its own notes are not steps for people: ${steps}`);
});

test('the question about a page shows its picture, and an approval is carried out at the shop', async () => {
  await say(page, 'Remove the lamp from the basket');
  const question = page.locator('article.question.open');
  await question.waitFor({ timeout: PATIENCE * 3 });
  await question.locator('img').first().waitFor();
  const width = await question.locator('img').first().evaluate((img) => img.naturalWidth);
  assert.ok(width > 300, `the picture is ${width} pixels wide`);
  assert.equal(await page.locator('button.down').count(), 0, 'a card that grows stays in sight');
  if (process.env.OBELUS_SHOTS) await page.screenshot({ path: path.join(process.env.OBELUS_SHOTS, 'operator-question-wide-light.png') });
  await decide(page, () => question.getByRole('button', { name: 'Approve', exact: true }).click());
  await page.locator('.busy').waitFor({ state: 'hidden', timeout: PATIENCE * 3 });
  const basket = await (await fetch(new URL('/basket', address))).text();
  assert.ok(!basket.includes('Lamp') && basket.includes('Toaster'), basket);
  assert.deepEqual(page.faults, []);
});
