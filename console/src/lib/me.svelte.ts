/** The user of this page and their role, and the lists that change: open questions, sessions, agents. */

import { access } from './access.svelte';
import { get, post, type Schemas } from './api';
import { follow, type Link } from './stream';

export type Role = 'viewer' | 'operator' | 'admin';

class Me {
  name = $state('');
  role = $state<Role>('viewer');
  version = $state('');

  get canAct(): boolean {
    return this.role !== 'viewer';
  }

  /** Checks a token and stores it; throws if the server refuses it. */
  async signIn(token: string): Promise<void> {
    const me = await get('/api/v1/me', { token });
    Object.assign(this, { name: me.name, role: me.role, version: me.version });
    access.token = token;
  }

  /** Exchanges the code of a one-time link for a token. */
  async redeem(code: string): Promise<void> {
    const given = await post('/api/v1/login', { body: { code } });
    await this.signIn(given.token);
  }

  signOut(): void {
    access.token = null;
    this.name = '';
  }
}

export const me = new Me();

/** Lists that could not be read are read again after this time, in milliseconds. */
const AGAIN = 5000;

/** The lists of the page. They are read again when something changes. */
class World {
  questions = $state.raw<Schemas['QuestionRow'][]>([]);
  recent = $state.raw<Schemas['QuestionRow'][]>([]);
  sessions = $state.raw<Schemas['SessionListRow'][]>([]);
  agents = $state.raw<Schemas['AgentRow'][]>([]);
  link = $state<Link>('opening');
  /** Whether the lists were read at least once. */
  isRead = $state(false);
  error = $state.raw<unknown>(null);
  #end: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  /** Whether something has changed since the lists that are being read were asked for. */
  #isStale = false;

  /** Starts watching; the returned function stops it. */
  watch(): () => void {
    this.#end?.();
    this.#end = follow('/api/v1/changes', [], {
      onFrames: () => this.readSoon(),
      onLink: (link) => {
        this.link = link;
        // The stream does not repeat changes from the time when it was closed.
        if (link === 'open') void this.read();
      },
      onRefused: (error) => (this.error = error),
    });
    return () => {
      this.#end?.();
      clearTimeout(this.#timer);
    };
  }

  /** Reads once after several changes in a row. */
  readSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.read(), 120);
  }

  /**
   * Reads the lists. One read runs at a time, and two requests: a browser has six connections for a server, two of them are
   * streams, and an answer must not wait behind lists.
   */
  async read(): Promise<void> {
    this.#isStale = this.#isReading;
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      // Each list is shown as soon as it arrives: some take longer than others.
      await Promise.all([
        get('/api/v1/questions').then((list) => (this.questions = list)),
        get('/api/v1/sessions', { query: { limit: 100 } }).then((list) => (this.sessions = list.sessions)),
      ]);
      await Promise.all([
        get('/api/v1/questions/recent', { query: { limit: 50 } }).then((list) => (this.recent = list)),
        get('/api/v1/agents').then((list) => (this.agents = list)),
      ]);
      this.isRead = true;
      this.error = null;
    } catch (error) {
      this.error = error;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.read(), AGAIN);
    } finally {
      this.#isReading = false;
    }
    if (this.#isStale) this.readSoon();
  }

  /** The number of open questions of a session. */
  waitingOf(session: string): number {
    return this.questions.filter((question) => question.session === session).length;
  }
}

export const world = new World();
