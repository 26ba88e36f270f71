/** The plan as data for its views. */

import type { Schemas } from '../../lib/api';
import { fill } from '../../lib/words.svelte';
import { words } from './words';

export type Graph = Schemas['PlanGraphView'];
export type Node = Graph['nodes'][number];
export type Edge = Graph['edges'][number];

export type Chosen = { kind: 'node'; node: Node } | { kind: 'edge'; edge: Edge };

/** Whose word a value is, in words. */
export function writerWords(writer: Edge['writer']): string {
  if (!writer) return words.before;
  const name = writer.name ?? '';
  switch (writer.kind) {
    case 'user':
      return words.user;
    case 'author':
      return words.author;
    case 'runtime':
      return words.runtime;
    case 'model':
      return words.model;
    case 'delegate':
      return fill(words.delegate, name);
    case 'elsewhere':
      return fill(words.elsewhere, name);
    default:
      return fill(words.byTool, name);
  }
}

/** An origin such as `untrusted:TOOL`, in words. */
export function originWords(origin: string): string {
  const [kind, name] = origin.split(/:(.*)/s);
  if (kind === 'trusted') return fill(words.byTool, name ?? '');
  if (kind === 'untrusted') return `${fill(words.byTool, name ?? '')}, ${words.notTrusted}`;
  return { user: words.user, author: words.author, model: words.model, runtime: words.runtime }[kind ?? ''] ?? origin;
}

/** How many nodes have each status. */
export function countsOf(nodes: Node[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const node of nodes) counts.set(node.status, (counts.get(node.status) ?? 0) + 1);
  return [...counts];
}
