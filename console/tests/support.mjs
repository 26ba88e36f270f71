/**
 * Shared by the tests: a practice portal, a server with offline agents, and a real browser.
 *
 * `OBELUS_BIN` names the program, `OBELUS_CHROMIUM` the browser where it is not on the path.
 */

import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

const here = path.dirname(fileURLToPath(import.meta.url));
export const root = path.resolve(here, '../..');
export const dist = path.resolve(here, '../dist');
const program = process.env.OBELUS_BIN ?? path.join(root, 'target/debug/obelus');
/** Time limit of waits in milliseconds. It is long because machines are shared and busy. */
export const PATIENCE = Number(process.env.OBELUS_PATIENCE ?? 60_000);

function browserPath() {
  if (process.env.OBELUS_CHROMIUM) return process.env.OBELUS_CHROMIUM;
  const folders = (process.env.PATH ?? '').split(':');
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const found = names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find((file) => fs.existsSync(file));
  if (!found) throw new Error('no Chromium on the path');
  return found;
}

/** The first line of a program's stdout. */
export function started(child) {
  return new Promise((done, fail) => {
    readline.createInterface({ input: child.stdout }).on('line', (line) => done({ first: line.trim() }));
    readline.createInterface({ input: child.stderr }).on('line', (line) => {
      if (process.env.OBELUS_VERBOSE) console.error(line);
    });
    child.on('exit', (code) => fail(new Error(`it ended with ${code} before it was ready`)));
  });
}

/** A portal, and a server with the agents of the tests. */
export class World {
  /**
   * `prepare` gets the folder of the agents and the one above before the server starts, and may return more arguments of the
   * server; `env` has more variables of its environment.
   */
  static async start({ lang = 'en', env = {}, prepare = () => undefined } = {}) {
    const world = new World();
    world.lang = lang;
    world.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'obelus-console-'));
    world.store = path.join(world.folder, 'store');
    world.#agents();
    world.env = env;
    world.args = prepare(path.join(world.folder, 'agents'), world.folder) ?? [];
    world.sandbox = spawn(program, ['sandbox', 'bitrix24', '--lang', lang, '--listen', '127.0.0.1:0'], { stdio: 'pipe' });
    world.portal = (await started(world.sandbox)).first;
    world.listen = '127.0.0.1:0';
    await world.serve();
    world.listen = new URL(world.address).host;
    world.browser = await chromium.launch({ executablePath: browserPath(), args: ['--no-sandbox'] });
    return world;
  }

  /** Copies the bundled CRM agent with its offline model, and the agents of the tests. */
  #agents() {
    const agents = path.join(this.folder, 'agents');
    fs.cpSync(path.join(here, 'agents'), agents, { recursive: true });
    fs.cpSync(path.join(root, 'examples/steps'), path.join(agents, 'steps'), { recursive: true });
    fs.cpSync(path.join(root, 'agents/crm'), path.join(agents, 'crm'), { recursive: true });
    const file = path.join(agents, 'crm/agent.yaml');
    const text = fs.readFileSync(file, 'utf8');
    const offline = text.replace(/^model: .*$/m, 'model: playbook:playbook.yaml').replace(/^mode: .*$/m, 'mode: full');
    fs.writeFileSync(file, offline);
  }

  async serve() {
    const args = ['serve', '--lang', this.lang, '--store', this.store, '--agents', path.join(this.folder, 'agents')];
    const env = { ...process.env, BITRIX_WEBHOOK_URL: this.portal, ...this.env };
    this.server = spawn(program, [...args, ...this.args, '--listen', this.listen], { env, stdio: 'pipe', cwd: this.folder });
    this.address = (await started(this.server)).first;
    this.token = fs.readFileSync(path.join(this.store, 'token'), 'utf8').trim();
    // The server prints its link only at a terminal.
    this.link = `${this.address}/#code=${(await this.api('POST', '/links')).code}`;
  }

  /** Kills the server. */
  async kill() {
    const ended = new Promise((done) => this.server.once('exit', done));
    this.server.kill('SIGKILL');
    await ended;
  }

  /** A token of another person. */
  tokenOf(name, role) {
    const args = ['tokens', 'add', name, '--role', role, '--store', this.store];
    return execFileSync(program, args, { encoding: 'utf8' }).trim();
  }

  /** A request to the API without the page. */
  async api(method, where, body, token = this.token) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${this.address}/api/v1${where}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${where}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  /** A deal of the portal. */
  async deal(id) {
    const response = await fetch(`${this.portal}crm.deal.get?id=${id}`);
    return (await response.json()).result;
  }

  /** A page with a token. Its errors are collected in `faults`. */
  async page({ width = 1280, height = 800, scheme = 'light', lang = this.lang, token = this.token } = {}) {
    const locale = lang === 'ru' ? 'ru-RU' : 'en-US';
    const context = await this.browser.newContext({ viewport: { width, height }, colorScheme: scheme, locale, timezoneId: 'Europe/Moscow' });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    page.faults = [];
    page.on('pageerror', (error) => page.faults.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && page.faults.push(message.text()));
    if (token) await page.addInitScript((given) => sessionStorage.setItem('obelus.token', given), token);
    return page;
  }

  async open(page, ...place) {
    await page.goto(`${this.address}/#/${place.map(encodeURIComponent).join('/')}`);
  }

  async stop() {
    await this.browser?.close();
    this.server?.kill('SIGKILL');
    this.sandbox?.kill('SIGKILL');
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

const axeSource = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Serious accessibility faults, each with its first element. */
export async function accessibilityFaults(page) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations
    .filter((violation) => ['serious', 'critical'].includes(violation.impact))
    .map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | ')}`);
}

/** Sends a message in the open conversation. */
export async function say(page, text) {
  const field = page.locator('textarea').last();
  await field.fill(text);
  await field.press('Enter');
}

/**
 * Answers a question by `press`. A question changes while its records are looked up: then the page refuses the answer and
 * shows the new question, and the answer is repeated.
 */
export async function decide(page, press) {
  const isAnswer = (response) => response.request().method() === 'POST' && /\/answer(\?|$)/.test(response.url());
  for (let tries = 0; tries < 10; tries += 1) {
    const answered = page.waitForResponse(isAnswer);
    await press();
    // An edit that turns out to be another one than was shown is not sent.
    const refused = page.getByText(/The question has changed while you looked at it|This is not what was shown/).first().waitFor();
    const response = await Promise.race([answered, refused]);
    for (const loser of [answered, refused]) loser.catch(() => undefined);
    if (response?.ok()) return;
    await refused;
  }
  throw new Error('the question changed each time it was answered');
}
