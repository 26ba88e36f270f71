/** Each screen: accessibility, size, and screenshots. */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import zlib from 'node:zlib';

import { accessibilityFaults, dist, PATIENCE, root, World } from './support.mjs';

const shots = process.env.OBELUS_SHOTS ?? path.join(root, 'target/console-shots');

let world;

before(async () => {
  fs.mkdirSync(shots, { recursive: true });
  world = await World.start({ lang: process.env.OBELUS_SHOTS_LANG ?? 'en' });
  const say = async (agent, id, ...texts) => {
    await world.api('POST', '/sessions', { agent, id, lang: world.lang });
    for (const text of texts) await world.api('POST', `/sessions/${id}/messages`, { text, wait: true });
  };
  const tour = {
    en: ['What are our sales stages?', 'Create a deal “Window supply” for 250000 and give Ian a task: prepare an offer by Friday', 'Change the amount of deal 1 to 100000'],
    ru: ['Какие у нас стадии продаж?', 'Создай сделку «Поставка окон» на 250000 и поставь задачу Илье: подготовить предложение до пятницы', 'Измени сумму сделки 1 на 100000'],
  }[world.lang];
  const batch = { en: 'Hand 20 deals of Ian over to Dora', ru: 'Передай 20 сделок менеджера Ильи Дарье' }[world.lang];
  await say('letters', 'answered', 'Nadia from Northwind asks when her pumps arrive');
  await world.api('POST', '/questions/answered:q1/answer', { decision: 'approve' });
  await say('letters', 'letters', 'Nadia from Northwind asks when her pumps arrive');
  await say('steps', 'steps', 'Book a table');
  if (process.env.UPDATE_PICTURES) await say('crm', 'waiting', batch);
  await say('crm', 'batch', batch);
  await world.api('POST', '/questions/batch:q1/answer', { decision: 'approve' });
  await say('crm', 'tour', ...tour);
}, { timeout: PATIENCE * 4 });
after(() => world?.stop());

/** Name, place, and an element that shows that it is drawn. */
const SCREENS = [
  ['start', [], '.agents li'],
  ['inbox', ['inbox', 'tour:q1'], 'article.question'],
  ['chat', ['s', 'tour', 'chat'], 'article.question'],
  ['plan-question', ['s', 'letters', 'chat'], 'article.question'],
  ['value-question', ['s', 'steps', 'chat'], 'article.question'],
  ['plan', ['s', 'answered', 'plan'], '.svelte-flow__node, ol li'],
  ['batch-plan', ['s', 'batch', 'plan'], '.svelte-flow__node, ol li'],
  ['steps', ['s', 'steps', 'plan'], '.svelte-flow__node, section li'],
  ['state', ['s', 'answered', 'state'], '.body ul li'],
  ['timeline', ['s', 'tour', 'timeline'], '.body ol li'],
  ['instances', ['s', 'batch', 'instances'], '.body [role=row]'],
  ['log', ['s', 'tour', 'log'], '.body ol li'],
  ['agents', ['agents'], 'main ul li'],
  ['agent', ['agents', 'crm'], 'main dl dd'],
];

const LOOKS = [
  ['wide', 'light', 1280, 800],
  ['wide', 'dark', 1280, 800],
  ['narrow', 'light', 360, 740],
  ['narrow', 'dark', 360, 740],
];

async function opened(page, place, sign) {
  await world.open(page, ...place);
  await page.locator(sign).first().waitFor();
  await page.locator('main p[role=status].quiet').first().waitFor({ state: 'hidden' });
  await page.waitForTimeout(500);
}

const isTooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

const isTabHidden = (page) =>
  page.evaluate(() => {
    const box = document.querySelector('.session nav [aria-current]')?.getBoundingClientRect();
    return box !== undefined && (box.left < 0 || box.right > innerWidth);
  });

for (const [size, scheme, width, height] of LOOKS) {
  test(`every screen is accessible, ${size} and ${scheme}`, async () => {
    const page = await world.page({ width, height, scheme });
    const faults = [];
    for (const [name, place, sign] of SCREENS) {
      await opened(page, place, sign);
      await page.screenshot({ path: path.join(shots, `${name}-${size}-${scheme}.png`) });
      faults.push(...(await accessibilityFaults(page)).map((fault) => `${name}: ${fault}`));
      if (await isTooWide(page)) faults.push(`${name}: wider than the window`);
      if (await isTabHidden(page)) faults.push(`${name}: the present tab is not in sight`);
    }
    assert.deepEqual(faults, []);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
}

test('every screen has room for Russian words', async () => {
  for (const [size, width, height] of [['wide', 1280, 800], ['narrow', 360, 740]]) {
    const page = await world.page({ width, height, lang: 'ru' });
    for (const [name, place, sign] of SCREENS) {
      await opened(page, place, sign);
      await page.screenshot({ path: path.join(shots, `${name}-${size}-russian.png`) });
      assert.equal(await isTooWide(page), false, `${name}, ${size}: wider than the window`);
    }
    await page.context().close();
  }
});

test('the pictures of the README', { skip: process.env.UPDATE_PICTURES ? false : 'they are made with UPDATE_PICTURES=1' }, async () => {
  const page = await world.page({ width: 1120, height: 700 });
  const picture = (name) => page.screenshot({ path: path.join(root, 'docs/pictures', `${name}.png`) });
  await opened(page, ['s', 'tour', 'chat'], 'article.question');
  await picture('chat');
  await opened(page, ['s', 'answered', 'plan'], '.svelte-flow__node');
  await picture('plan');
  await opened(page, ['inbox', 'waiting:q1'], 'article.question');
  await picture('inbox');
  await opened(page, ['s', 'answered', 'timeline'], '.body ol li');
  await page.getByRole('button', { name: 'Look at this point' }).first().click();
  await page.getByRole('heading', { name: 'Fork from here' }).waitFor();
  await page.locator('aside p[role=status].quiet').waitFor({ state: 'hidden' });
  await page.waitForTimeout(500);
  await picture('timeline');
  await page.context().close();
});

test('the first load has at most 60 kB of JavaScript, and 150 kB with the graph', async () => {
  const page = await world.page();
  const files = new Set();
  page.on('response', (response) => response.url().endsWith('.js') && files.add(path.basename(response.url())));
  const size = () => {
    const bytes = [...files].map((file) => zlib.gzipSync(fs.readFileSync(path.join(dist, 'assets', file))).length);
    return bytes.reduce((sum, one) => sum + one, 0);
  };
  await world.open(page, 's', 'tour', 'chat');
  await page.locator('article.question').waitFor();
  assert.ok(size() <= 60_000, `the conversation: ${size()} bytes`);
  await world.open(page, 's', 'answered', 'plan');
  await page.locator('.svelte-flow__node').first().waitFor();
  assert.ok(size() <= 150_000, `with the graph: ${size()} bytes`);
  await page.context().close();
});
