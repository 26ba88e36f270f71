/** What comes from outside: a model's server that reports tokens, and a person who answers in Telegram. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ModelServer, Telegram } from './peers.mjs';
import { accessibilityFaults, PATIENCE, say, World } from './support.mjs';

const solution = ({ say, calls = [], output = null }) => JSON.stringify({ ...(say ? { say } : {}), calls, output });
let writeOn;
const gate = new Promise((done) => (writeOn = done));
const words = solution({ say: 'There are 42 pumps in the warehouse.', output: 'There are 42 pumps in the warehouse.' });
const middle = words.indexOf(' pumps');

let world;
let model;
let telegram;
let page;

before(async () => {
  model = await ModelServer.start([
    { text: solution({ calls: [{ _tool: 'stock', goods: 'pump', _outputPath: '†state.stock' }] }), tokens: [1200, 80] },
    { text: [words.slice(0, middle), gate, words.slice(middle)], tokens: [1500, 20] },
    { text: solution({ output: 'You are welcome.' }), tokens: [1600, 5] },
  ]);
  telegram = await Telegram.start(42);
  world = await World.start({
    env: model.environment,
    prepare: (agents, folder) => ['--telegram', telegram.configure(folder, 'crm')],
  });
  page = await world.page();
}, { timeout: PATIENCE * 3 });
after(async () => {
  await world?.stop();
  model?.stop();
  telegram?.stop();
});

test('words of a model are shown while it writes them', async () => {
  await world.api('POST', '/sessions', { agent: 'paid', id: 'paid', lang: 'en' });
  await world.open(page, 's', 'paid', 'chat');
  await page.getByText('Say what is to be done.').waitFor();
  await say(page, 'How many pumps are there?');
  await page.locator('.steps').getByText('Look at the stock').waitFor();
  await page.locator('.writing').getByText('There are 42').waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  writeOn();
  await page.locator('.agent').getByText('There are 42 pumps in the warehouse.').waitFor();
  await page.locator('.writing').waitFor({ state: 'detached' });
  await say(page, 'Thank you');
  await page.locator('.agent').getByText('You are welcome.').waitFor();
});

test('the log has the tokens and the cost of each step, of each turn and of all', async () => {
  await page.getByRole('link', { name: 'Log' }).click();
  await page.locator('summary', { hasText: '1,500 read, 20 written, cost 0.0032' }).waitFor();
  await page.getByRole('button', { name: 'Tokens and cost' }).click();
  await page.getByText('3 requests to the model').waitFor();
  const rows = await page.locator('tbody tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.innerText.replace(/\s+/g, ' ').trim())));
  const used = rows.map((cells) => [cells[0], ...cells.slice(-3)]);
  assert.deepEqual(used, [
    ['How many pumps are there? 2 requests to the model', '2,700', '100', '0.0064'],
    ['Look at the stock', '1,200', '80', '0.0032'],
    ['There are 42 pumps in the warehouse.', '1,500', '20', '0.0032'],
    ['Thank you 1 request to the model', '1,600', '5', '0.00325'],
    ['You are welcome.', '1,600', '5', '0.00325'],
  ]);
  const sum = await page.locator('.sum').first().innerText();
  assert.match(sum, /4,405 tokens\s+cost 0\.00965/);
  if (process.env.OBELUS_SHOTS) await page.screenshot({ path: `${process.env.OBELUS_SHOTS}/usage-wide-light.png` });
  assert.deepEqual(await accessibilityFaults(page), []);
});

test('tokens and cost have room in a narrow window, in Russian and in dark colours', async () => {
  const narrow = await world.page({ width: 360, height: 740, scheme: 'dark', lang: 'ru' });
  await world.open(narrow, 's', 'paid', 'log');
  await narrow.getByRole('button', { name: 'Токены и стоимость' }).click();
  await narrow.getByText('3 запроса к модели').waitFor();
  await narrow.getByRole('rowheader', { name: /Thank you/ }).waitFor();
  if (process.env.OBELUS_SHOTS) await narrow.screenshot({ path: `${process.env.OBELUS_SHOTS}/usage-narrow-dark.png` });
  assert.equal(await narrow.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
  assert.deepEqual(await accessibilityFaults(narrow), []);
  await narrow.context().close();
});

test('a second person sees at once that a question was answered in Telegram, and by whom', async () => {
  telegram.say('Change the amount of deal 1 to 100000');
  await world.open(page, 'inbox');
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  const russian = await world.page({ lang: 'ru' });
  await world.open(russian, 'inbox', 'telegram-42:q1');
  await russian.getByRole('button', { name: 'Разрешить', exact: true }).waitFor();
  await telegram.press('Yes');
  await page.getByText('Already answered by 42 in Telegram').waitFor();
  await russian.getByText('Уже отвечено: 42 через Telegram').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Approve', exact: true }).count(), 0);
  await page.getByRole('article').getByText('Approved', { exact: true }).waitFor();
  await page.getByRole('article').getByText('by 42 in Telegram').waitFor();
  await page.getByRole('button', { name: 'Answered' }).click();
  await page.locator('.inbox ul a').getByText('42 in Telegram').waitFor();
  await russian.context().close();
});

test('an answer that comes second is not counted, and says who was first', async () => {
  telegram.say('Change the amount of deal 2 to 200000');
  await world.open(page, 's', 'telegram-42', 'chat');
  const card = page.locator('article.question.open');
  await card.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  // The news of the other answer comes late, and the button is still there.
  await page.route(/\/answer(\?|$)/, async (route) => {
    await telegram.press('Yes');
    while ((await world.api('GET', '/questions/telegram-42:q2')).status === 'requested') await new Promise((done) => setTimeout(done, 100));
    await route.continue();
  });
  await card.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.locator('article.question').last().getByText('Already answered by 42 in Telegram').waitFor();
  await page.unroute(/\/answer(\?|$)/);
  assert.deepEqual(page.faults.filter((fault) => !/Failed to load resource.*409/.test(fault)), []);
});
