/** The status of sessions and calls: words, colour and icon. */

import type { IconName } from '../parts/Icon.svelte';
import { table } from './words.svelte';

export type Tone = 'plain' | 'good' | 'bad' | 'mark' | 'accent';

const sessions = table({
  new: ['новая', 'new'],
  under_way: ['в работе', 'at work'],
  waiting: ['ждёт вас', 'waits for you'],
  paused: ['на паузе', 'paused'],
  done: ['готово', 'done'],
  degraded: ['без модели', 'without the model'],
  limit: ['достигнут предел', 'limit met'],
  stopped: ['остановлена', 'stopped'],
  unreadable: ['не читается', 'unreadable'],
});

const SESSION_TONES: Record<keyof typeof sessions, Tone> = {
  new: 'plain',
  under_way: 'accent',
  waiting: 'mark',
  paused: 'mark',
  done: 'good',
  degraded: 'bad',
  limit: 'bad',
  stopped: 'plain',
  unreadable: 'bad',
};

export function statusWords(status: string): string {
  return status in sessions ? sessions[status as keyof typeof sessions] : status;
}

export function statusTone(status: string): Tone {
  return SESSION_TONES[status as keyof typeof sessions] ?? 'plain';
}

const calls = table({
  planned: ['в плане', 'planned'],
  blocked: ['ждёт данных', 'waits for data'],
  ready: ['готов к запуску', 'ready'],
  waiting: ['ждёт решения', 'waits for a decision'],
  running: ['выполняется', 'running'],
  done: ['готово', 'done'],
  failed: ['не удалось', 'failed'],
  skipped: ['пропущен', 'skipped'],
  denied: ['отклонён', 'denied'],
  refused: ['запрещён правилами', 'refused by the rules'],
});

export type CallStatus = keyof typeof calls;

const CALL_SIGNS: Record<CallStatus, [IconName, Tone]> = {
  planned: ['dot', 'plain'],
  blocked: ['dot', 'plain'],
  ready: ['dot', 'accent'],
  waiting: ['wait', 'mark'],
  running: ['run', 'accent'],
  done: ['check', 'good'],
  failed: ['cross', 'bad'],
  skipped: ['skip', 'plain'],
  denied: ['deny', 'mark'],
  refused: ['deny', 'mark'],
};

export const CALL_STATUSES = Object.keys(CALL_SIGNS) as CallStatus[];

export function callWords(status: string): string {
  return status in calls ? calls[status as CallStatus] : status;
}

export function callSign(status: string): [IconName, Tone] {
  return CALL_SIGNS[status as CallStatus] ?? ['dot', 'plain'];
}
