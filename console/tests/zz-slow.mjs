import { World } from './support.mjs';
const world = await World.start({ lang: 'en' });
const say = async (agent, id, ...texts) => {
  await world.api('POST', '/sessions', { agent, id, lang: world.lang });
  for (const text of texts) await world.api('POST', `/sessions/${id}/messages`, { text, wait: true });
};
await say('letters', 'answered', 'Nadia from Northwind asks when her pumps arrive');
await world.api('POST', '/questions/answered:q1/answer', { decision: 'approve' });
await say('letters', 'letters', 'Nadia from Northwind asks when her pumps arrive');
await say('steps', 'steps', 'Book a table');
await say('crm', 'tour', 'What are our sales stages?', 'Change the amount of deal 1 to 100000');
const SCREENS = [
  ['start', [], '.agents li'],
  ['inbox', ['inbox', 'tour:q1'], 'article.question'],
  ['chat', ['s', 'tour', 'chat'], 'article.question'],
  ['plan-question', ['s', 'letters', 'chat'], 'article.question'],
  ['value-question', ['s', 'steps', 'chat'], 'article.question'],
  ['plan', ['s', 'answered', 'plan'], '.svelte-flow__node, ol li'],
  ['steps', ['s', 'steps', 'plan'], '.svelte-flow__node, section li'],
  ['state', ['s', 'answered', 'state'], '.body ul li'],
  ['timeline', ['s', 'tour', 'timeline'], '.body ol li'],
  ['log', ['s', 'tour', 'log'], '.body ol li'],
  ['agents', ['agents'], 'main ul li'],
  ['agent', ['agents', 'crm'], 'main dl dd'],
];
let lag = Date.now();
setInterval(() => { const d = Date.now() - lag - 100; if (d > 1000) console.log(new Date().toISOString(), 'node lag', d); lag = Date.now(); }, 100);
for (let round = 0; round < Number(process.argv[2] ?? 6); round += 1) {
  const page = await world.page({ width: round % 2 ? 360 : 1280 });
  const open = new Map();
  page.on('request', (r) => open.set(r, Date.now()));
  const done = (what) => (r) => { const t = Date.now() - open.get(r); open.delete(r); if (t > 2000 && !/events|changes/.test(r.url())) console.log(new Date().toISOString(), what, t, r.url().slice(-80)); };
  page.on('requestfinished', done('slow'));
  page.on('requestfailed', done('failed'));
  for (const [name, place, sign] of SCREENS) {
    const t = Date.now();
    await world.open(page, ...place);
    const watch = setTimeout(() => { console.log(new Date().toISOString(), 'WAITING', name, [...open.entries()].map(([r, s]) => `${Date.now() - s}ms ${r.url().slice(-70)}`)); void page.screenshot({path:`/tmp/shots/stuck-${round}-${name}.png`}).catch(()=>{}); }, 8000);
    await page.locator(sign).first().waitFor();
    await page.locator('main p[role=status].quiet').first().waitFor({ state: 'hidden' });
    clearTimeout(watch);
    if (Date.now() - t > 3000) console.log(new Date().toISOString(), name, 'took', Date.now() - t);
    await page.waitForTimeout(200);
  }
  console.log('round', round, page.faults);
  await page.context().close();
}
await world.stop();
process.exit(0);
