/** Which calls of a plan need which others. */

import type { Call } from './decide';

/** These calls, and all that they need. */
export function withNeeded(calls: Call[], chosen: number[]): number[] {
  return closed(chosen, (index) => calls.find((call) => call.index === index)?.needs ?? []);
}

/** These calls, and all that need them. */
export function withDependents(calls: Call[], chosen: number[]): number[] {
  return closed(chosen, (index) => calls.filter((call) => call.needs?.includes(index)).map((call) => call.index));
}

function closed(from: number[], next: (index: number) => number[]): number[] {
  const all = new Set(from);
  // A set that grows while it is walked is walked to its end.
  for (const index of all) for (const other of next(index)) all.add(other);
  return [...all].sort((a, b) => a - b);
}
