/** Events of a session as readable lines. */

import type { Schemas } from '../../lib/api';
import type { Tone } from '../../lib/status';
import { beginning, visible } from '../../lib/text';
import { fill } from '../../lib/words.svelte';
import type { IconName } from '../../parts/Icon.svelte';
import { words } from './words';

export type SessionEvent = Schemas['SessionEvent'];

/** A message of the user or a decision of a person, before and after which the state can be compared. */
export interface Moment {
  record: number;
  text: string;
}

/** The longest text of a moment. */
const MOST_OF_MOMENT = 40;

/** The record of an event's number, `RECORD-PART`. */
export function recordOf(event: SessionEvent): number {
  return Number(event.number.split('-')[0]);
}

export function momentsOf(events: SessionEvent[]): Moment[] {
  const moments = new Map<number, Moment>();
  for (const event of events) {
    const record = recordOf(event);
    if (moments.has(record)) continue;
    if (event.event === 'user_said') moments.set(record, { record, text: fill(words.quoted, visible(beginning(event.text, MOST_OF_MOMENT))) });
    if (event.event === 'question_decided') moments.set(record, { record, text: decisionOf(event.decision) });
  }
  return [...moments.values()];
}

function decisionOf(decision: Schemas['Decision']): string {
  const name = nameOf(decision);
  return fill(words.decided, DECISIONS[name]?.() ?? name);
}

/** One line of the timeline. */
export interface Line {
  key: string;
  record: number;
  at: string | number;
  icon: IconName;
  tone: Tone;
  /** What happened. */
  what: string;
  /** Text of a person, the model or a tool. */
  text?: string;
  /** The record after which the session can be inspected or forked: before a message or decision, or after the end of a turn. */
  point?: number;
}

const DECISIONS: Record<string, () => string> = {
  approve: () => words.approved,
  consent: () => words.consented,
  deny: () => words.denied,
  deny_some: () => words.denied,
  edit: () => words.edited,
  value: () => words.answered,
  happened: () => words.happened,
  did_not: () => words.didNot,
};

const nameOf = (decision: Schemas['Decision']) => (typeof decision === 'string' ? decision : (Object.keys(decision)[0] ?? ''));

/** The name without the channel: `anna` of `api:anna`. */
const personOf = (by: string): string => by.slice(by.lastIndexOf(':') + 1) || by;

/** The steps of a plan by their titles. Its description has the tool of each step, with its parameters indented below. */
function stepsOf(description: string, titleOf: (tool: string) => string): string {
  const lines = description.split('\n');
  if (!lines.some((line) => line.startsWith(' '))) return description;
  return lines.filter((line) => line !== '' && !line.startsWith(' ')).map(titleOf).join(', ');
}

/** A call on one line, with the title of its tool. */
export function titled(headline: string, titleOf: (tool: string) => string): string {
  const end = headline.search(/ |$/);
  return titleOf(headline.slice(0, end)) + headline.slice(end);
}

/** The lines of the events, in order. A call gets its line when it ends. */
export function storyOf(events: SessionEvent[], titleOf: (tool: string) => string): Line[] {
  const calls = new Map<string, string>();
  const lines: Line[] = [];
  const tell = (event: SessionEvent, icon: IconName, tone: Tone, what: string, text?: string, point?: 'before' | 'after') => {
    const line: Line = { key: event.number, record: recordOf(event), at: event.at, icon, tone, what };
    if (text !== undefined) line.text = text;
    if (point) line.point = point === 'before' ? line.record - 1 : line.record;
    lines.push(line);
  };
  for (const event of events) {
    switch (event.event) {
      case 'user_said':
        tell(event, 'chat', 'accent', words.userSaid, event.text, 'before');
        break;
      case 'agent_said':
        tell(event, 'agents', 'plain', words.agentSaid, event.text);
        break;
      case 'call_began':
        calls.set(event.id, event.line?.headline ?? titleOf(String(event.call['_tool'] ?? '')));
        break;
      case 'call_ended': {
        const title = calls.get(event.id) ?? event.id;
        const { outcome } = event;
        if ('error' in outcome) tell(event, 'cross', 'bad', fill(words.callFailed, title), outcome.error.message);
        else if ('lost' in outcome) tell(event, 'warn', 'mark', fill(words.callLost, title), outcome.lost.message);
        else tell(event, 'check', 'good', fill(words.callDone, title));
        break;
      }
      case 'question_asked':
        tell(event, 'wait', 'mark', words.asked, event.question.headline ?? stepsOf(event.question.description, titleOf));
        break;
      case 'question_decided':
        tell(event, 'check', 'accent', decisionOf(event.decision), personOf(event.by), 'before');
        break;
      case 'question_expired':
        tell(event, 'skip', 'mark', words.expired);
        break;
      case 'state_edited':
        tell(event, 'edit', 'accent', words.stateEdited, personOf(event.by), 'before');
        break;
      case 'mode_changed':
        tell(event, 'edit', 'plain', fill(words.mode, event.mode));
        break;
      case 'rules_changed':
        tell(event, 'edit', 'plain', words.rules);
        break;
      case 'paused':
        tell(event, 'pause', 'mark', words.paused, personOf(event.by));
        break;
      case 'resumed':
        tell(event, 'run', 'plain', words.resumed, personOf(event.by));
        break;
      case 'stopped':
        tell(event, 'stop', 'mark', words.stopped);
        break;
      case 'happened':
        tell(event, 'inbox', 'plain', words.told);
        break;
      case 'rested':
        tell(event, 'dot', 'plain', words.rested, undefined, 'after');
        break;
    }
  }
  return lines;
}
