/** A session as a conversation: messages, steps and questions in their order. */

import type { Schemas } from '../../lib/api';
import { follow, type Frame, type Link } from '../../lib/stream';
import { plainValue } from '../../lib/text';

export type SessionEvent = Schemas['SessionEvent'];

/** A step on one line. */
export interface Step {
  id: string;
  headline: string;
  comment?: string;
  status: string;
  outcome?: string;
  /** Who approved it with other values than the agent's. */
  edited?: string;
}

export type NoteKind = 'paused' | 'resumed' | 'stopped' | 'mode' | 'rules' | 'state' | 'limit' | 'degraded' | 'failed' | 'happened' | 'revoked';

export type Item = { key: string; at: string | number } & (
  | { kind: 'user'; text: string }
  | { kind: 'agent'; text: string }
  | { kind: 'steps'; steps: Step[] }
  | { kind: 'result'; value: unknown }
  | { kind: 'question'; id: string; version: number; isOpen: boolean }
  | { kind: 'note'; note: NoteKind; text: string }
);

/** The text of a call, from its event. */
interface Line {
  headline: string;
  comment?: string | null;
  status: string;
  outcome?: string | null;
  edited?: string | null;
  is_quiet?: boolean;
}

/** Past events come in many pieces, which are drawn together after this pause in milliseconds. */
const GATHERING = 60;
const QUIET = 250;

export class Feed {
  items = $state.raw<Item[]>([]);
  /** The text that the model is writing. */
  writing = $state('');
  /** Whether a turn is running. */
  isBusy = $state(false);
  link = $state<Link>('opening');
  /** Whether the past events have been read. */
  isRead = $state(false);
  error = $state.raw<unknown>(null);
  /** Grows when something was done after which there may be another picture of what the agent sees. */
  seen = $state(0);
  /** New texts for screen readers. */
  news = $state('');
  /** The number of new questions. */
  asked = $state(0);

  readonly #session: string;
  readonly #items: Item[] = [];
  /** Positions of the items that later events change. */
  readonly #steps = new Map<string, { item: number; step: number }>();
  readonly #questions = new Map<string, number>();
  readonly #dirty = new Set<number>();
  #last = '0-0';
  #isBusy = false;
  #writing = '';
  #seen = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the session was opened, by the server's clock: what happened before is no news. */
  #opened = Infinity;

  constructor(session: string) {
    this.#session = session;
  }

  /** Follows the session from its beginning; the returned function stops it. */
  open(): () => void {
    const end = follow('/api/v1/sessions/{id}/events', [this.#session], {
      after: this.#last,
      onFrames: (frames) => this.#frames(frames),
      onOpen: (at) => (this.#opened = Math.min(this.#opened, at)),
      onLink: (link) => {
        this.link = link;
        if (link !== 'open') return;
        // A session without events sends nothing.
        this.#timer ??= setTimeout(() => this.#commit(), QUIET);
      },
      onRefused: (error) => (this.error = error),
    });
    return () => {
      end();
      clearTimeout(this.#timer);
    };
  }

  #frames(frames: Frame[]): void {
    for (const frame of frames) this.#take(JSON.parse(frame.data) as SessionEvent);
    if (this.isRead) this.#commit();
    else {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#commit(), GATHERING);
    }
  }

  /** Shows the collected changes. */
  #commit(): void {
    this.isRead = true;
    for (const index of this.#dirty) {
      const item = this.#items[index]!;
      this.#items[index] = item.kind === 'steps' ? { ...item, steps: item.steps.map((step) => ({ ...step })) } : { ...item };
    }
    this.#dirty.clear();
    this.items = this.#items.slice();
    this.isBusy = this.#isBusy;
    this.seen = this.#seen;
    this.writing = this.#writing;
  }

  #add(event: SessionEvent, item: DistributiveOmit<Item, 'key' | 'at'>): number {
    this.#items.push({ ...item, key: `${event.number}/${this.#items.length}`, at: event.at } as Item);
    return this.#items.length - 1;
  }

  /** Tells screen readers a text, if it is new. */
  #tell(event: SessionEvent, text: string): void {
    if (this.#isNew(event)) this.news = text;
  }

  /** Times alone do not tell, because the server's is rounded to a second. */
  #isNew(event: SessionEvent): boolean {
    return this.isRead && new Date(event.at).getTime() >= this.#opened;
  }

  #note(event: SessionEvent, note: NoteKind, text = ''): void {
    this.#add(event, { kind: 'note', note, text });
  }

  #take(event: SessionEvent): void {
    if (event.number) this.#last = event.number;
    switch (event.event) {
      case 'user_said':
        this.#add(event, { kind: 'user', text: event.text });
        break;
      case 'agent_said':
        this.#writing = '';
        if (event.text.trim()) this.#add(event, { kind: 'agent', text: event.text });
        this.#tell(event, event.text);
        break;
      case 'writing':
        this.#writing += event.text;
        break;
      case 'model_asked':
        this.#isBusy = true;
        this.#writing = '';
        break;
      case 'call_began':
        // Lookups for a question are not steps of the agent.
        if (event.id.includes(':')) break;
        this.#isBusy = true;
        this.#began(event, lineOf(event) ?? lineOfCall(event.call));
        break;
      case 'call_ended':
        if (hasPicture(event.outcome)) this.#seen += 1;
        this.#ended(event);
        break;
      case 'question_asked':
        if (this.#isNew(event)) this.asked += 1;
        this.#asked(event, event.question.id, true);
        break;
      case 'question_asked_again':
        this.#asked(event, event.question.id, true);
        break;
      case 'question_decided':
      case 'question_expired':
        this.#asked(event, event.question, false);
        break;
      case 'rested':
        this.#isBusy = false;
        this.#writing = '';
        this.#rested(event);
        break;
      case 'stopped':
        this.#isBusy = false;
        this.#writing = '';
        this.#note(event, 'stopped');
        break;
      default:
        this.#takeOther(event);
    }
  }

  #takeOther(event: SessionEvent): void {
    switch (event.event) {
      case 'moved':
        for (const step of event.steps) {
          const line = lineOf(step);
          if (line) this.#set(step.place.join('.'), line);
        }
        break;
      case 'paused':
      case 'resumed':
        return this.#note(event, event.event, event.by);
      case 'mode_changed':
        return this.#note(event, 'mode', event.mode);
      case 'rules_changed':
        return this.#note(event, 'rules');
      case 'state_edited':
        return this.#note(event, 'state', event.by);
      case 'consent_revoked':
        return this.#note(event, 'revoked', event.by);
      case 'happened':
        return this.#note(event, 'happened', plainValue(event.told));
      case 'failed':
        return this.#note(event, 'failed', event.text);
    }
  }

  #began(event: SessionEvent & { event: 'call_began' }, line: Line): void {
    if (this.#steps.has(event.id)) return this.#set(event.id, line);
    // A quiet step is shown only if it needs a word.
    if (!line.is_quiet) this.#show(event, line);
  }

  #show(event: SessionEvent & { id: string }, line: Line): void {
    let last = this.#items.length - 1;
    if (this.#items[last]?.kind !== 'steps') last = this.#add(event, { kind: 'steps', steps: [] });
    const block = this.#items[last];
    if (block?.kind !== 'steps') return;
    block.steps.push({ id: event.id, ...stepOf(line) });
    this.#steps.set(event.id, { item: last, step: block.steps.length - 1 });
    this.#dirty.add(last);
  }

  #ended(event: SessionEvent & { event: 'call_ended' }): void {
    const line = lineOf(event);
    if (line?.is_quiet && line.status !== 'done' && !event.id.includes(':') && !this.#steps.has(event.id)) return this.#show(event, line);
    if (line) return this.#set(event.id, line);
    const { outcome } = event;
    const error = 'error' in outcome ? outcome.error.message : 'lost' in outcome ? outcome.lost.message : undefined;
    const place = this.#steps.get(event.id);
    const item = place && this.#items[place.item];
    const step = item?.kind === 'steps' ? item.steps[place!.step] : undefined;
    if (!step) return;
    step.status = 'error' in outcome ? 'failed' : 'lost' in outcome ? 'waiting' : 'done';
    if (error) step.outcome = error;
    this.#dirty.add(place!.item);
  }

  #set(id: string, line: Line): void {
    const place = this.#steps.get(id);
    const item = place && this.#items[place.item];
    if (item?.kind !== 'steps') return;
    const { comment, ...rest } = stepOf(line);
    const step = item.steps[place!.step]!;
    Object.assign(step, rest, comment ? { comment } : {});
    this.#dirty.add(place!.item);
  }

  #asked(event: SessionEvent, question: string, isOpen: boolean): void {
    const id = question.includes(':') && question.startsWith(this.#session) ? question : `${this.#session}:${question}`;
    const place = this.#questions.get(id);
    const item = place === undefined ? undefined : this.#items[place];
    if (item?.kind === 'question') {
      item.version += 1;
      item.isOpen = isOpen;
      this.#dirty.add(place!);
    } else {
      this.#questions.set(id, this.#add(event, { kind: 'question', id, version: 0, isOpen }));
    }
  }

  #rested(event: SessionEvent & { event: 'rested' }): void {
    const { ends, reason, output, said } = event.reply;
    // The output is shown unless it was already said.
    if (typeof output === 'string' && output.trim() && !said.includes(output)) {
      this.#add(event, { kind: 'agent', text: output });
      this.#tell(event, output);
    } else if (typeof output === 'object' && output !== null) {
      this.#add(event, { kind: 'result', value: output });
    }
    if (ends !== 'limit' && ends !== 'degraded') return;
    const told = reason as { message?: string } | null | undefined;
    this.#note(event, ends, told?.message ?? '');
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** Whether a call has brought a picture of a page: an observation names its file. An empty page is not worth one. */
function hasPicture(outcome: Schemas['Outcome']): boolean {
  const value = 'value' in outcome ? (outcome.value as { shot?: unknown; address?: unknown } | null) : null;
  return typeof value?.shot === 'string' && value.address !== 'about:blank';
}

function stepOf(line: Line): Omit<Step, 'id'> {
  return {
    headline: line.headline,
    status: line.status,
    ...(line.comment ? { comment: line.comment } : {}),
    ...(line.outcome ? { outcome: line.outcome } : {}),
    ...(line.edited ? { edited: line.edited } : {}),
  };
}

/** The text of a step, if the server sends it. */
function lineOf(told: unknown): Line | undefined {
  return (told as { line?: Line | null }).line ?? undefined;
}

function lineOfCall(call: Record<string, unknown>): Line {
  const comment = typeof call.comment === 'string' ? call.comment : undefined;
  return { headline: plainValue(call._tool), status: 'running', ...(comment ? { comment } : {}) };
}
