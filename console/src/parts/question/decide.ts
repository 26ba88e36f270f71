/** Answers to questions. */

import { ApiError, get, inputId, post, type Schemas } from '../../lib/api';
import { world } from '../../lib/me.svelte';

export type Question = Schemas['QuestionRow'];
export type View = Schemas['QuestionView'];
export type Call = Schemas['CallView'];
export type Row = Schemas['RowView'];
export type Answer = Schemas['AnswerBody'];

/** Whether some calls of a question were approved and others denied. */
export function isPartly(row: Question): boolean {
  const { calls } = row.view;
  return calls.some((call) => call.is_approved === true) && calls.some((call) => call.is_approved === false);
}

/** The result of an answer: the present question, and whether the answer was accepted. */
export interface Decided {
  row: Question;
  outcome: 'taken' | 'changed' | 'already';
}

/** Answers a question as shown. If it has changed or is decided, returns its present form. */
export async function decide(id: string, answer: Answer, digest: string): Promise<Decided> {
  let outcome: Decided['outcome'] = 'taken';
  try {
    await post('/api/v1/questions/{question}/answer', { at: [id], body: { ...answer, digest }, key: inputId() });
  } catch (error) {
    const code = error instanceof ApiError ? error.code : '';
    if (code === 'changed') outcome = 'changed';
    else if (code === 'already_decided') outcome = 'already';
    else throw error;
  }
  world.readSoon();
  return { row: await read(id), outcome };
}

export function read(id: string): Promise<Question> {
  return get('/api/v1/questions/{question}', { at: [id] });
}
