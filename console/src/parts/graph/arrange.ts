/** Asks the worker for the layout of a graph. */

import type { Layout, Line, Size } from './layout';

export interface Asked {
  id: number;
  nodes: string[];
  lines: Line[];
  size: Size;
  room: Size;
}

export interface Answered {
  id: number;
  layout: Layout;
}

const waiting = new Map<number, { done: (layout: Layout) => void; fail: (error: Error) => void }>();
let last = 0;
let worker: Worker | undefined;

/** Begins to load the worker; it serves all graphs of the page. */
export function startWorker(): Worker {
  if (worker) return worker;
  worker = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' });
  worker.onmessage = ({ data }: MessageEvent<Answered>) => {
    waiting.get(data.id)?.done(data.layout);
    waiting.delete(data.id);
  };
  worker.onerror = (event) => {
    for (const { fail } of waiting.values()) fail(new Error(event.message || 'the graph cannot be arranged'));
    waiting.clear();
    worker = undefined;
  };
  return worker;
}

export function arrange(nodes: string[], lines: Line[], size: Size, room: Size): Promise<Layout> {
  const asked: Asked = { id: (last += 1), nodes, lines, size, room };
  return new Promise((done, fail) => {
    waiting.set(asked.id, { done, fail });
    startWorker().postMessage(asked);
  });
}
