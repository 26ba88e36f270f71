/** Server-sent events by `fetch`: unlike `EventSource`, it can send the token in a header. */

import { address, ApiError, errorOf, headers } from './api';

export interface Frame {
  id?: string;
  event: string;
  data: string;
}

/** Reads frames of a stream, also those that are split between two pieces. */
export class FrameReader {
  #rest = '';

  push(piece: string): Frame[] {
    const blocks = (this.#rest + piece).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.map(frameOf).filter((frame) => frame !== null);
  }
}

function frameOf(block: string): Frame | null {
  const frame: Frame = { event: 'message', data: '' };
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const [, name, value] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
    if (name === 'id') frame.id = value ?? '';
    if (name === 'event') frame.event = value ?? '';
    if (name === 'data') data.push(value ?? '');
  }
  frame.data = data.join('\n');
  return data.length > 0 ? frame : null;
}

export type Link = 'opening' | 'open' | 'lost';

export interface Following {
  /** The id of the event after which the stream begins. */
  after?: string;
  /** Frames that arrived together. */
  onFrames: (frames: Frame[]) => void;
  onLink?: (link: Link) => void;
  /** The stream is open. `at` is the time by the server's clock, in milliseconds and rounded down to a second. */
  onOpen?: (at: number) => void;
  /** The server refuses this stream; it is not opened again. */
  onRefused?: (error: ApiError) => void;
}

const FIRST_PAUSE = 300;
const LONGEST_PAUSE = 5000;
/** A hidden tab closes its connection after this time, because a browser has only a few for all its tabs. */
const HIDDEN = 30_000;
/** The longest time without data. The server sends a keep-alive every 15 seconds. */
const SILENCE = 40_000;

/** Follows a stream until the returned function is called. A broken stream is resumed after its last id. */
export function follow(path: string, at: string[], following: Following): () => void {
  const end = new AbortController();
  void run(path, at, following, end.signal);
  return () => end.abort();
}

async function run(path: string, at: string[], following: Following, ended: AbortSignal): Promise<void> {
  let last = following.after;
  let pause = FIRST_PAUSE;
  while (!ended.aborted) {
    await seen(ended);
    following.onLink?.('opening');
    try {
      await once(path, at, last, ended, {
        opened: (at) => {
          pause = FIRST_PAUSE;
          following.onOpen?.(at);
          following.onLink?.('open');
        },
        frames: (frames) => {
          for (const frame of frames) if (frame.id) last = frame.id;
          following.onFrames(frames);
        },
      });
    } catch (error) {
      if (ended.aborted) return;
      const isFinal = error instanceof ApiError && [400, 401, 403, 404].includes(error.status);
      if (isFinal) return following.onRefused?.(error);
    }
    if (ended.aborted) return;
    following.onLink?.('lost');
    await sleep(pause, ended);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

interface Once {
  opened: (at: number) => void;
  frames: (frames: Frame[]) => void;
}

async function once(path: string, at: string[], last: string | undefined, ended: AbortSignal, to: Once): Promise<void> {
  const silent = new AbortController();
  const stop = () => silent.abort();
  ended.addEventListener('abort', stop);
  let timer = setTimeout(stop, SILENCE);
  let hidden: ReturnType<typeof setTimeout> | undefined;
  const onVisibility = () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(stop, HIDDEN);
  };
  document.addEventListener('visibilitychange', onVisibility);
  try {
    const query = last === undefined ? {} : { after: last };
    const response = await fetch(address(path, at, query), { headers: headers(), cache: 'no-store', signal: silent.signal });
    if (!response.ok || !response.body) throw await errorOf(response);
    to.opened(Date.parse(response.headers.get('date') ?? '') || Date.now());
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const frames = new FrameReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE);
      const found = frames.push(value);
      if (found.length > 0) to.frames(found);
    }
  } finally {
    clearTimeout(timer);
    clearTimeout(hidden);
    document.removeEventListener('visibilitychange', onVisibility);
    ended.removeEventListener('abort', stop);
    silent.abort();
  }
}

function sleep(milliseconds: number, ended: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    ended.addEventListener('abort', () => (clearTimeout(timer), done()));
  });
}

/** Waits until the page is visible. */
function seen(ended: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => {
    const look = () => {
      if (document.hidden && !ended.aborted) return;
      document.removeEventListener('visibilitychange', look);
      done();
    };
    document.addEventListener('visibilitychange', look);
    ended.addEventListener('abort', look);
  });
}
