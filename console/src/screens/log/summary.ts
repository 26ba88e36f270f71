/** A record of the journal on one line. */

import type { Schemas } from '../../lib/api';
import { beginning, plainValue } from '../../lib/text';
import { fill } from '../../lib/words.svelte';
import { money, number } from './money';
import { words } from './words';

type Fields = Record<string, unknown>;

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
const textOf = (value: unknown): string => (typeof value === 'string' ? value.replace(/\s*\n\s*/g, ' ') : '');

export function summaryOf(row: Schemas['LogRow']): string {
  const input = fieldsOf(fieldsOf(row.input)[row.kind]);
  switch (row.kind) {
    case 'user':
      return textOf(input['text']);
    case 'answer': {
      const answer = fieldsOf(input['answer']);
      const solution = fieldsOf(fieldsOf(answer['solution'])['solution']);
      const calls = Array.isArray(solution['calls']) ? solution['calls'].map((call) => textOf(fieldsOf(call)['_tool'])) : [];
      const failed = textOf(fieldsOf(answer['failed'])['message']);
      const parts = [textOf(solution['say']), ...calls, textOf(solution['output']), failed].filter((part) => part !== '');
      return [...new Set(parts)].join(' · ');
    }
    case 'used': {
      const used = fieldsOf(input['used']);
      const [read, written, cost] = [number(Number(used['input'] ?? 0)), number(Number(used['output'] ?? 0)), used['cost']];
      return typeof cost === 'number' ? fill(words.tookFor, read, written, money(cost)) : fill(words.took, read, written);
    }
    case 'ended': {
      const outcome = fieldsOf(input['outcome']);
      const message = textOf(fieldsOf(outcome['error'])['message']) || textOf(fieldsOf(outcome['lost'])['message']);
      return message || beginning(plainValue(outcome['value'] ?? outcome['messages']), 300);
    }
    case 'decide': {
      const decision = input['decision'];
      const name = typeof decision === 'string' ? decision : (Object.keys(fieldsOf(decision))[0] ?? '');
      return [textOf(input['question']), name, textOf(input['by'])].join(' · ');
    }
    default:
      return textOf(input['by']);
  }
}
