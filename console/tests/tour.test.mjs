/** The demo's conversation, by hand in a real browser. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { decide, PATIENCE, say, World } from './support.mjs';

let world;
let page;
let session;

before(async () => {
  world = await World.start();
  page = await world.page({ token: null });
}, { timeout: PATIENCE * 3 });
after(() => world?.stop());

const shows = (text) => page.getByText(text).first().waitFor();
/** What screen readers are told. */
const told = () => page.locator('.chat > [role=status]').textContent();
const question = () => page.locator('article.question.open').last();

test('a one-time link opens the page, and does so once', async () => {
  await page.goto(world.link);
  await page.getByRole('heading', { name: 'Who should do the work?' }).waitFor();
  assert.ok(!page.url().includes('code='), 'the code does not stay in the address');
  const second = await world.page({ token: null });
  await second.goto(world.link);
  await second.getByText('This link was used already').waitFor();
  await second.getByLabel('Token').fill('wrong');
  await second.getByRole('button', { name: 'Sign in' }).click();
  await second.getByText('This token is not valid').waitFor();
  await second.getByLabel('Token').fill(world.token);
  await second.getByRole('button', { name: 'Sign in' }).click();
  await second.getByRole('heading', { name: 'Who should do the work?' }).waitFor();
  await second.context().close();
});

test('reading needs no decision', async () => {
  await page.getByRole('button', { name: 'Start a conversation: crm' }).click();
  await page.waitForURL(/#\/s\/[^/]+\/chat/);
  session = /#\/s\/([^/]+)/.exec(page.url())[1];
  await say(page, 'What are our sales stages?');
  await shows('In progress');
  assert.equal(await page.locator('article.question').count(), 0);
});

test('creating what was asked for needs no decision, and its steps are named in words', async () => {
  await say(page, 'Create a deal “Window supply” for 250000 and give Ian a task: prepare an offer by Friday');
  await shows('Done.');
  await shows('Create a deal');
  assert.equal(await page.getByText('crm.deal.add').count(), 0, 'no names of methods where people read');
});

test('an amount is edited in a form, and the new difference is shown before it counts', async () => {
  await say(page, 'Change the amount of deal 1 to 100000');
  await question().getByText('534500').waitFor();
  assert.match(await told(), /Your decision is needed/, 'screen readers are told');
  await question().getByRole('button', { name: 'Edit' }).click();
  await question().getByLabel('amount').fill('many');
  await question().locator('.problem').waitFor();
  await question().getByLabel('amount').fill('120 000');
  await question().getByText('This is what will be done').waitFor();
  await question().getByText('the agent proposed').waitFor();
  // Of another record the present values are not known: those that were read are of the proposed one.
  await question().getByLabel('deal').fill('2');
  await question().getByText('not known').waitFor();
  assert.equal(await question().getByText('534500').count(), 0);
  await question().getByLabel('deal').fill('1');
  await question().getByText('534500').waitFor();
  assert.equal((await world.deal(1)).OPPORTUNITY, '534500.00', 'nothing is done by looking');
  await decide(page, () => question().getByRole('button', { name: 'Approve with the changes' }).click());
  await page.getByText('Approved').first().waitFor();
  await assertSoon(async () => Number((await world.deal(1)).OPPORTUNITY) === 120_000, 'the edited amount');
});

test('a denial with a reason leaves the record alone', async () => {
  await say(page, 'Move deal 3 to the stage “Deal lost”');
  await question().getByRole('button', { name: 'Check the record now' }).click();
  await question().getByText('The record has not changed since it was shown').waitFor();
  const before = (await world.deal(3)).STAGE_ID === 'NEW' ? 'EXECUTING' : 'NEW';
  await fetch(`${world.portal}crm.deal.update?id=3&fields[STAGE_ID]=${before}`);
  await page.reload();
  await question().getByRole('button', { name: 'Check the record now' }).click();
  await question().getByText('The record has changed since it was shown').waitFor();
  await question().getByRole('button', { name: 'Deny' }).click();
  await page.getByLabel(/Why not/).fill('the customer is still thinking');
  await decide(page, () => question().getByRole('button', { name: 'Deny' }).click());
  await shows('Denied');
  // The keyboard goes on from the card, not from the top of the page.
  await page.waitForFunction(() => document.activeElement?.matches('article.question'));
  assert.equal((await world.deal(3)).STAGE_ID, before);
});

test('twenty deals are handed over by one answer, one of them left out', async () => {
  await say(page, 'Hand 20 deals of Ian over to Dora');
  const all = question();
  await all.getByRole('checkbox', { name: /^Step 1: Change the deal «.+» \(\d+\)$/ }).waitFor();
  await page.locator('.busy').waitFor({ state: 'hidden' });
  await all.getByRole('checkbox').first().uncheck();
  await decide(page, () => all.getByRole('button', { name: 'Approve the chosen (19)' }).click());
  await all.getByText('approved', { exact: true }).first().waitFor();
  await all.getByRole('button', { name: 'Deny' }).click();
  await all.getByLabel(/Why not/).fill('this one stays');
  await decide(page, () => all.getByRole('button', { name: 'Deny' }).click());
  await assertSoon(async () => (await world.api('GET', `/sessions/${session}`)).questions.length === 0, 'nothing waits');
  await assertSoon(async () => (await world.api('GET', `/sessions/${session}`)).status !== 'under_way', 'it rests');
  const rows = await world.api('GET', `/sessions/${session}/instances`);
  assert.equal(rows.total, 20);
  assert.deepEqual(rows.counts, { denied: 1, done: 19 });
});

test('a reload shows the same conversation', async () => {
  const count = await page.locator('.items > *').count();
  await page.reload();
  await shows('Change the amount of deal 1 to 100000');
  await assertSoon(async () => (await page.locator('.items > *').count()) === count, 'the same entries');
  assert.equal((await told()).trim(), '', 'what was told before is no news');
});

test('the batch is a table of its instances', async () => {
  await page.getByRole('link', { name: 'Instances' }).click();
  await page.getByRole('button', { name: 'all 20' }).waitFor();
  await page.getByRole('button', { name: 'done 19' }).waitFor();
  await page.getByRole('link', { name: 'Chat' }).click();
});

test('a fork says first what it would do again, and begins beside the original', async () => {
  await page.getByRole('link', { name: 'Timeline' }).click();
  await page.getByRole('button', { name: 'Look at this point' }).nth(1).click();
  await shows('Done later: it stays done');
  await page.getByLabel(/Name of the new session/).fill('another');
  await page.getByRole('button', { name: 'Make the fork' }).click();
  await page.waitForURL(/#\/s\/another\/chat/);
  await page.locator('.bubble').getByText('What are our sales stages?').waitFor();
  const original = await world.api('GET', `/sessions/${session}`);
  assert.notEqual(original.status, 'paused', 'the original stays as it is');
});

test('a lazy plan is approved as a whole', async () => {
  await world.open(page);
  await page.getByRole('button', { name: 'Start a conversation: letters' }).click();
  await page.waitForURL(/#\/s\/[^/]+\/chat/);
  await page.getByText('Say what is to be done.').waitFor();
  await say(page, 'Nadia from Northwind asks when her pumps arrive');
  await question().getByText('Send the letter').waitFor();
  await page.getByRole('link', { name: 'Plan' }).click();
  await page.getByRole('button', { name: 'List' }).click();
  await page.getByText('†state.letter.text').first().waitFor();
  await page.getByRole('link', { name: 'Chat' }).click();
  await decide(page, () => question().getByRole('button', { name: 'Approve all (4)' }).click());
  await shows('The letter is sent.');
});

test('a lazy plan is approved in part: what needs a step that is left out goes with it, and nobody is asked again', async () => {
  await world.open(page);
  await page.getByRole('button', { name: 'Start a conversation: letters' }).click();
  await page.waitForURL(/#\/s\/[^/]+\/chat/);
  const [, part] = /#\/s\/([^/]+)/.exec(page.url());
  await page.getByText('Say what is to be done.').waitFor();
  await say(page, 'Nadia from Northwind asks when her pumps arrive');
  const step = (number) => question().getByRole('checkbox', { name: new RegExp(`^Step ${number}:`) });
  await step(4).waitFor();
  const chosen = async () => (await Promise.all([1, 2, 3, 4].map((number) => step(number).isChecked()))).map(Number).join('');
  await step(2).uncheck();
  await question().getByText('These steps need it, and are left out too: 3, 4.').waitFor();
  assert.equal(await chosen(), '1000');
  await step(3).check();
  await question().getByText('It needs these steps, which are chosen too: 2.').waitFor();
  assert.equal(await chosen(), '1110');
  await decide(page, () => question().getByRole('button', { name: 'Approve the chosen (3)' }).click());
  await shows('Then nothing is sent.');
  const card = page.locator('article.question');
  await card.getByText('Approved in part', { exact: true }).waitFor();
  await card.locator('li', { hasText: 'Send the letter' }).getByText('left out').waitFor();
  assert.equal(await card.count(), 1, 'no other question came');
  const { nodes } = await world.api('GET', `/sessions/${part}/graph`);
  assert.deepEqual(nodes.map((node) => node.status), ['done', 'done', 'done', 'denied']);
  const { events } = await world.api('GET', `/sessions/${part}/timeline?limit=1000`);
  assert.equal(events.filter((event) => event.event === 'model_asked').length, 2, 'once for the plan, once for its result');
});

test('an edge of the plan shows its value and who wrote it', async () => {
  await page.getByRole('link', { name: 'Plan' }).click();
  await page.getByRole('button', { name: 'List' }).click();
  await page.getByRole('button', { name: /†state\.deal\.contact/ }).click();
  await page.getByRole('complementary').getByText('nadia@example.test').first().waitFor();
  await page.getByRole('complementary').getByText('Find the deal').first().waitFor();
});

test('the page reports no fault, and no policy of the browser was broken', () => {
  const known = /Failed to load resource.*(401|404|409)/;
  assert.deepEqual(page.faults.filter((fault) => !known.test(fault)), []);
});

async function assertSoon(check, what) {
  const end = Date.now() + PATIENCE;
  while (!(await check())) {
    assert.ok(Date.now() < end, `not in time: ${what}`);
    await new Promise((done) => setTimeout(done, 200));
  }
}
