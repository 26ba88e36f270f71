/** Cards of questions that are not in the demo: a form of a website, and an effect in doubt. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { decide, PATIENCE, World } from './support.mjs';

let world;
let page;

before(async () => {
  world = await World.start();
  page = await world.page();
}, { timeout: PATIENCE * 3 });
after(() => world?.stop());

const question = () => page.locator('article.question.open');

/** Opens a session with a question on the page. */
async function asked(agent, id, text) {
  await world.api('POST', '/sessions', { agent, id, lang: 'en' });
  await world.api('POST', `/sessions/${id}/messages`, { text, wait: true });
  await world.open(page, 's', id, 'chat');
  await question().waitFor();
}

test('the card of a web form shows each field as it will be sent, and where it goes', async () => {
  await asked('signup', 'form', 'Sign Nadia up for the newsletter');
  await question().getByText('Send the form', { exact: true }).waitFor();
  const shown = await question().locator('dl').first().innerText();
  for (const part of ['https://news.example.test/subscribe/send', 'Nadia Olsen', 'nadia@example.test', 'every week', 'Yes']) {
    assert.ok(shown.includes(part), `${part} in ${shown}`);
  }
  assert.ok(!/"/.test(shown), 'texts have no quotes of JSON');
  assert.ok(!shown.includes('4f1d'), 'marks for engineers stand in the details');
  await question().getByText('Details').click();
  await question().getByText('4f1d').waitFor();
});

test('a field of the form is edited, and what was typed is what is sent', async () => {
  await question().getByRole('button', { name: 'Edit' }).click();
  await question().getByLabel(/E-mail/).fill('office@example.test');
  await question().getByText('This is what will be done').waitFor();
  await decide(page, () => question().getByRole('button', { name: 'Approve with the changes' }).click());
  await page.getByText('The form is sent.').first().waitFor();
  const { nodes } = await world.api('GET', '/sessions/form/graph');
  assert.equal(nodes[0].params.form.fields['E-mail'], 'office@example.test');
});

test('an edited question and its step say that they were edited, and by whom', async () => {
  for (const [lang, decided, step] of [['en', 'Approved with changes', /edited by .+ in API/], ['ru', 'Разрешено с изменениями', /изменено \(.+API\)/]]) {
    const other = await world.page({ lang });
    await world.open(other, 's', 'form', 'chat');
    await other.getByText(decided, { exact: true }).waitFor();
    await other.locator('.steps').getByText(step).waitFor();
    await other.context().close();
  }
});

test('a form that is denied is not sent', async () => {
  await asked('signup', 'no-form', 'Sign Nadia up for the newsletter');
  await question().getByRole('button', { name: 'Deny' }).click();
  await decide(page, () => question().getByRole('button', { name: 'Deny' }).click());
  await page.getByText('Nothing was sent.').first().waitFor();
});

test('the card of an effect in doubt offers what happened and nothing else, and says when it began in words', async () => {
  await asked('orders', 'doubt', 'Order 12 pumps');
  await question().getByText('nobody knows whether the step was done').waitFor();
  const shown = await question().innerText();
  assert.match(shown, /Order from the supplier/);
  assert.doesNotMatch(shown, /\d{4}-\d\d-\d\dT/, 'no dates of machines');
  assert.match(shown, /started at \d{4}-\d\d-\d\d \d\d:\d\d \(.+?\)/, 'times have a zone');
  for (const name of ['Approve', 'Deny', 'Edit']) {
    assert.equal(await question().getByRole('button', { name, exact: true }).count(), 0, name);
  }
});

test('an effect that did not happen is done once more', async () => {
  await decide(page, () => question().getByRole('button', { name: 'It did not happen: do it' }).click());
  await page.getByText('The pumps are ordered.').first().waitFor();
  const { nodes } = await world.api('GET', '/sessions/doubt/graph');
  assert.deepEqual(nodes.map((node) => node.status), ['done']);
});

test('an effect that happened is not done again', async () => {
  await asked('orders', 'happened', 'Order 12 pumps');
  await decide(page, () => question().getByRole('button', { name: 'It happened' }).click());
  await page.getByText('The pumps are ordered.').first().waitFor();
  const { events } = await world.api('GET', '/sessions/happened/timeline?limit=1000');
  assert.equal(events.filter((event) => event.event === 'call_began').length, 1, 'no second attempt');
});

test('a card has its words in Russian, and a decided one says once what was decided', async () => {
  await world.api('POST', '/sessions', { agent: 'letters', id: 'russian', lang: 'ru' });
  await world.api('POST', '/sessions/russian/messages', { text: 'Когда привезут насосы?', wait: true });
  const russian = await world.page({ lang: 'ru' });
  await world.open(russian, 's', 'russian', 'chat');
  const card = russian.locator('article.question');
  await card.getByText('Найти сделку').first().waitFor();
  await decide(russian, () => card.getByRole('button', { name: /^Разрешить/ }).first().click());
  await card.getByText('Разрешено', { exact: true }).waitFor();
  const shown = await card.innerText();
  assert.ok(!/\d{4}-\d\d-\d\dT/.test(shown), `a time for machines: ${shown}`);
  assert.equal(shown.match(/разрешено/gi).length, 1, shown);
  assert.ok(!/\b(Approve|Deny|Expires|Details)\b/.test(shown), shown);
  assert.deepEqual(russian.faults, []);
  await russian.context().close();
});
