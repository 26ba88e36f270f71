/** Servers that the tests pretend to be: a model's server, and the Bot API of Telegram. */

import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

import { PATIENCE } from './support.mjs';

function listening(answer) {
  const server = http.createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    await answer(request, text ? JSON.parse(text) : {}, response);
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done({ server, address: `http://127.0.0.1:${server.address().port}` })));
}

/**
 * A server with the Chat Completions API. `script` has an answer for each request: its text, in pieces if it is a list, and its
 * tokens. A piece that is a promise is waited for.
 */
export class ModelServer {
  static async start(script) {
    const model = new ModelServer();
    let next = 0;
    Object.assign(model, await listening((_, asked, response) => send(response, script[next++ % script.length])));
    return model;
  }

  get environment() {
    return { OPENAI_API_BASE: `${this.address}/v1`, NO_PROXY: '127.0.0.1' };
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

async function send(response, { text, tokens: [input, output] }) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = (data) => response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  const chunk = (delta, finish = null) => event({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] });
  for (const piece of [text].flat()) {
    if (typeof piece === 'string') chunk({ content: piece });
    else await piece;
  }
  chunk({}, 'stop');
  event({ choices: [], usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output } });
  event('[DONE]');
  response.end();
}

const TOKEN = '123456:AAbb_cc-dd';

/** Telegram with one user in a private chat: hands out updates, and keeps the messages of the bot. */
export class Telegram {
  #updates = [];
  #messages = new Map();
  #pressed = new Set();

  static async start(user) {
    const telegram = new Telegram();
    telegram.user = user;
    Object.assign(telegram, await listening((request, params, response) => telegram.#answer(request.url.split('/').pop(), params, response)));
    return telegram;
  }

  /** Writes the configuration of the bot into a folder; returns its path. */
  configure(folder, agent) {
    fs.writeFileSync(path.join(folder, 'telegram-token'), TOKEN, { mode: 0o600 });
    const file = path.join(folder, 'telegram.yaml');
    fs.writeFileSync(file, `token_file: telegram-token\nagent: ${agent}\nallow: [${this.user}]\nlang: en\napi: ${this.address}\n`);
    return file;
  }

  #answer(method, params, response) {
    const result = (value) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ok: true, result: value }));
    if (method === 'getUpdates') {
      const take = (tries) => {
        const found = this.#updates.filter((update) => update.update_id >= (params.offset ?? 0));
        if (found.length > 0 || tries === 0) result(found);
        else setTimeout(() => take(tries - 1), 100);
      };
      return take(10);
    }
    if (method === 'getMe') return result({ id: 999, is_bot: true, username: 'test_bot' });
    if (method === 'sendMessage') {
      const number = this.#messages.size + 1;
      this.#messages.set(number, params);
      return result({ message_id: number });
    }
    if (method === 'editMessageText') Object.assign(this.#messages.get(params.message_id) ?? {}, { reply_markup: undefined }, params);
    return result(true);
  }

  #update(update) {
    this.#updates.push({ update_id: 100 + this.#updates.length, ...update });
  }

  get #from() {
    return { id: this.user, is_bot: false, first_name: 'Anna', language_code: 'en' };
  }

  say(text) {
    this.#update({ message: { message_id: 5000, from: this.#from, chat: { id: this.user, type: 'private' }, text } });
  }

  /** Presses a button of a card that was not pressed before, when there is one with these words: the bot takes buttons away late. */
  async press(words) {
    for (const end = Date.now() + PATIENCE; Date.now() < end; await new Promise((done) => setTimeout(done, 100))) {
      for (const [number, message] of this.#messages) {
        const button = message.reply_markup?.inline_keyboard?.flat().find((one) => one.text.includes(words));
        if (!button || this.#pressed.has(number)) continue;
        this.#pressed.add(number);
        const message_ = { message_id: number, chat: { id: this.user, type: 'private' } };
        this.#update({ callback_query: { id: '7', from: this.#from, message: message_, data: button.callback_data } });
        return;
      }
    }
    throw new Error(`there is no button with “${words}”`);
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
