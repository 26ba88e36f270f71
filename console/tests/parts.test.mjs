/** What opens on the screens: panels, forms, dialogs and empty screens. They are accessible, have room, and can be hit with a finger. */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { accessibilityFaults, PATIENCE, World } from './support.mjs';

const shots = process.env.OBELUS_SHOTS;

let world;

before(async () => {
  if (shots) fs.mkdirSync(shots, { recursive: true });
  world = await World.start();
  const say = async (agent, id, ...texts) => {
    await world.api('POST', '/sessions', { agent, id, lang: 'en' });
    for (const text of texts) await world.api('POST', `/sessions/${id}/messages`, { text, wait: true });
  };
  await say('letters', 'answered', 'Nadia from Northwind asks when her pumps arrive');
  await world.api('POST', '/questions/answered:q1/answer', { decision: 'approve' });
  await say('letters', 'plan', 'Nadia from Northwind asks when her pumps arrive');
  await say('letters', 'partly', 'Nadia from Northwind asks when her pumps arrive');
  await world.api('POST', '/questions/partly:q1/answer', { decision: 'approve', only: [0, 1, 2] });
  await say('counts', 'counted', 'zero', 'one', 'three');
  await say('crm', 'fresh');
  await say('signup', 'form', 'Sign Nadia up for the newsletter');
  await say('orders', 'doubt', 'Order 12 pumps');
  await say('crm', 'batch', 'Hand 20 deals of Ian over to Dora');
  await say('crm', 'tour', 'Change the amount of deal 1 to 100000');
}, { timeout: PATIENCE * 4 });
after(() => world?.stop());

const press = (name) => (page) => page.getByRole('button', { name }).first().click();
const none = () => undefined;

/** Name, place, an element that shows that the screen is drawn, and what opens the part. */
const PARTS = [
  ['inbox-answered', ['inbox'], '.inbox a', press('Answered')],
  ['edit', ['s', 'tour', 'chat'], 'article.question', async (page) => {
    await press('Edit')(page);
    await page.getByLabel('amount').fill('120000');
    await page.getByText('This is what will be done').waitFor();
  }],
  ['deny', ['s', 'tour', 'chat'], 'article.question', press('Deny')],
  ['details', ['s', 'tour', 'chat'], 'article.question', async (page) => {
    for (const summary of await page.locator('article summary').all()) await summary.click();
  }],
  ['batch-question', ['s', 'batch', 'chat'], 'article.question', none],
  ['plan-part', ['s', 'plan', 'chat'], 'article.question', async (page) => {
    await page.getByRole('checkbox', { name: /^Step 2:/ }).uncheck();
    await page.getByText('These steps need it, and are left out too: 3, 4.').waitFor();
  }],
  ['plan-decided', ['s', 'partly', 'chat'], 'article.question', none],
  ['form-question', ['s', 'form', 'chat'], 'article.question', none],
  ['doubt-question', ['s', 'doubt', 'chat'], 'article.question', none],
  ['plan-node', ['s', 'answered', 'plan'], '.svelte-flow__node, ol li', async (page) => {
    await press('List')(page);
    await page.locator('ol li button.head').nth(2).click();
  }],
  ['state-value', ['s', 'answered', 'state'], '.body ul li', (page) => page.locator('.body ul li button').nth(3).click()],
  ['state-changes', ['s', 'answered', 'state'], '.body ul li', (page) => page.getByLabel('Show').selectOption('0')],
  ['fork', ['s', 'answered', 'timeline'], '.body ol li', press('Look at this point')],
  ['usage', ['s', 'answered', 'log'], '.body ol li', press('Tokens and cost')],
  ['agent-policy', ['agents', 'crm'], 'main dl dd', press('Policy')],
  ['agent-prompt', ['agents', 'crm'], 'main dl dd', async (page) => {
    await press('Prompt')(page);
    await press('Show the prompt')(page);
    await page.getByText('Request 2').waitFor();
  }],
  ['palette', [], '.agents li', (page) => page.keyboard.press('Control+k')],
  ['empty-state', ['s', 'fresh', 'state'], '.body ul li', none],
  ['empty-timeline', ['s', 'fresh', 'timeline'], '.body .quiet', none],
  ['empty-instances', ['s', 'fresh', 'instances'], '.body .quiet', none],
];

/** What is pressed, and is smaller than a finger hits: WCAG 2.5.8 asks for 24 pixels. */
const tooSmall = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('a, button, input, select, summary, textarea')]
      .map((element) => [element, element.getBoundingClientRect()])
      .filter(([element, box]) => element.checkVisibility() && box.width > 0 && (box.width < 24 || box.height < 24))
      .map(([element, box]) => `${element.outerHTML.slice(0, 100)} ${Math.round(box.width)} × ${Math.round(box.height)}`),
  );

for (const [size, scheme, width, height] of [['wide', 'dark', 1280, 800], ['narrow', 'light', 360, 740]]) {
  test(`every part is accessible, ${size} and ${scheme}`, async () => {
    const page = await world.page({ width, height, scheme });
    const faults = [];
    for (const [name, place, sign, open] of PARTS) {
      // Two changes of place that come at once are one, and a part that was opened before would stay open.
      await world.open(page, 'inbox');
      await page.locator('.inbox').first().waitFor();
      await world.open(page, ...place);
      await page.locator(sign).first().waitFor();
      await open(page);
      await page.locator('main p[role=status].quiet').first().waitFor({ state: 'hidden' });
      await page.waitForTimeout(300);
      if (shots) await page.screenshot({ path: path.join(shots, `part-${name}-${size}-${scheme}.png`) });
      faults.push(...(await accessibilityFaults(page)).map((fault) => `${name}: ${fault}`));
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) faults.push(`${name}: wider than the window`);
      if (size === 'narrow') faults.push(...(await tooSmall(page)).map((fault) => `${name}: too small: ${fault}`));
      await page.keyboard.press('Escape');
    }
    assert.deepEqual(faults, []);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
}

test('the details of a node take room from the graph, and the node stays in sight', async () => {
  for (const [width, height] of [[1280, 800], [360, 740]]) {
    const page = await world.page({ width, height });
    await world.open(page, 's', 'answered', 'plan');
    await press('Graph')(page);
    const node = page.locator('.svelte-flow__node', { hasText: 'Find out when it is delivered' });
    await node.click();
    await page.getByRole('complementary').waitFor();
    await page.waitForFunction(() => {
      const [node, view] = ['.svelte-flow__node.selected', '.view'].map((sign) => document.querySelector(sign)?.getBoundingClientRect());
      return node && view && node.left >= view.left && node.right <= view.right && node.top >= view.top && node.bottom <= view.bottom;
    });
    assert.match(await node.getAttribute('aria-label'), /^Find out when it is delivered, done, /, 'its state is told, not only drawn');
    await page.context().close();
  }
});

test('a value of the state has its writer, its time, its sources and who approved it; the log is searched', async () => {
  const page = await world.page();
  await world.open(page, 's', 'answered', 'state');
  await page.locator('.body ul li button', { hasText: 'Friday' }).first().click();
  const panel = await page.getByRole('complementary').innerText();
  for (const part of ['the tool “Find out when it is delivered”', 'When', 'Approved by', 'local', 'the tool “Find the deal”']) {
    assert.ok(panel.includes(part), `${part} in ${panel}`);
  }
  await page.getByLabel('Show').selectOption('0');
  await page.locator('.change', { hasText: '†state.letter' }).getByText('added').waitFor();
  await world.open(page, 's', 'answered', 'log');
  await page.getByPlaceholder('Search the log').fill('approve');
  await page.waitForFunction(() => document.querySelectorAll('.body ol li').length === 1);
  await page.locator('summary').getByText('Decision of a person').waitFor();
  await page.context().close();
});

test('the difference of the state between any two points is shown: messages of the user, decisions, the present', async () => {
  const page = await world.page();
  await world.open(page, 's', 'counted', 'state');
  const change = page.locator('.change', { hasText: '†state.counts.c1' }).first();
  const told = async () => (await change.innerText()).replace(/\s+/g, ' ').trim();
  const shows = async (words) => {
    await change.getByText(words.slice(-2), { exact: true }).waitFor();
    assert.equal(await told(), `changed †state.counts.c1 ${words}`);
  };
  await page.getByLabel('Show').selectOption({ label: 'what changed since “one”' });
  await shows('14 → 15');
  await page.getByLabel('until').selectOption({ label: '“three”' });
  await shows('14 → 13');
  await page.getByLabel('Show').selectOption({ label: 'what changed since “three”' });
  await shows('13 → 15');
  await world.open(page, 's', 'answered', 'state');
  await page.getByLabel('Show').selectOption('0');
  await page.getByLabel('until').selectOption({ label: 'Decision: approved' });
  await page.getByText('Nothing has changed in this time.').waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('failed instances are tried again, and those that were done stay done', async () => {
  await world.api('POST', '/sessions', { agent: 'rows', id: 'rows', lang: 'en' });
  await world.api('POST', '/sessions/rows/messages', { text: 'Write to everybody', wait: true });
  const page = await world.page();
  await world.open(page, 's', 'rows', 'instances');
  await page.getByRole('button', { name: 'done 2' }).waitFor();
  await page.getByText('the address is missing').first().waitFor();
  await page.getByRole('button', { name: 'Ask the agent to try 1 failed one again' }).click();
  const words = page.getByLabel('The agent is told these words, and decides what to do again:');
  await page.waitForFunction(() => document.querySelector('#retry-words')?.value.endsWith('boris'));
  assert.equal(await words.inputValue(), 'Try again for those that failed: boris');
  await page.getByRole('button', { name: 'Send to the agent' }).click();
  await page.locator('.agent').getByText('It is sent now.').waitFor();
  await page.getByRole('link', { name: 'Instances' }).click();
  await page.getByRole('button', { name: 'done 3' }).waitFor();
  assert.equal(await page.getByRole('button', { name: /Ask the agent/ }).count(), 0, 'nothing is left to retry');
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test('the keyboard goes through the page in its order, and what has the focus is in sight and marked', async () => {
  for (const [width, height] of [[1280, 800], [360, 740]]) {
    const page = await world.page({ width, height });
    await world.open(page, 's', 'tour', 'chat');
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await page.waitForTimeout(300);
    const seen = [];
    for (let steps = 0; steps < 60; steps += 1) {
      await page.keyboard.press('Tab');
      const now = await page.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        const [box, style] = [element.getBoundingClientRect(), getComputedStyle(element)];
        const name = element.getAttribute('aria-label') ?? (element.innerText || element.getAttribute('placeholder') || element.tagName).trim();
        const isMarked = style.outlineStyle !== 'none' || (element.form && getComputedStyle(element.form).outlineStyle !== 'none');
        return { name: name.split('\n')[0], isMarked, isInSight: box.width > 0 && box.top < innerHeight && box.bottom > 0 && box.left < innerWidth && box.right > 0 };
      });
      if (!now || now.name === seen[0]?.name) break;
      seen.push(now);
    }
    const names = seen.map(({ name }) => name);
    const wanted = ['Skip to the content', ...(width > 1000 ? ['Inbox', 'RU'] : ['Menu']), 'Chat', 'Log', 'Conversation', 'Details', 'Check the record now', 'Approve', 'Edit', 'Deny', 'Message to the agent'];
    const places = wanted.map((name) => names.findIndex((one) => one.startsWith(name)));
    assert.equal(names[0], 'Skip to the content', 'the first Tab after loading');
    assert.ok(places.every((place, index) => place >= 0 && (index === 0 || place > places[index - 1])), `${wanted} in ${names}`);
    assert.deepEqual(seen.filter(({ isMarked, isInSight }) => !isMarked || !isInSight), []);
    await page.context().close();
  }
});

test('a graph of steps is listed from its start', async () => {
  const page = await world.page();
  await world.open(page, 'agents', 'steps');
  await press('Graph')(page);
  await page.locator('section li strong').first().waitFor();
  const names = await page.locator('section li strong').allInnerTexts();
  assert.deepEqual(names, ['understand', 'book', 'ask', 'done', 'gave_up']);
  await page.context().close();
});

test('a session that is not there has neither a status nor a plan', async () => {
  const page = await world.page();
  await world.open(page, 's', 'nothing', 'chat');
  await page.getByText('there is no session').waitFor();
  assert.equal(await page.locator('header .badge:visible').count(), 0);
  await page.context().close();
});
