/** The plan as data for its views. */

import type { Schemas } from '../../lib/api';
import { plainValue } from '../../lib/text';
import { fill } from '../../lib/words.svelte';
import { words } from './words';

export type Graph = Schemas['PlanGraphView'];
export type Node = Graph['nodes'][number];
export type Edge = Graph['edges'][number];

export type Chosen = { kind: 'node'; node: Node } | { kind: 'edge'; edge: Edge };

/** The writer of a value, in words. */
export function writerWords(writer: Edge['writer']): string {
  if (!writer) return words.before;
  const name = writer.title ?? writer.name ?? '';
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

/** The titles of tools by their names. */
export type ToolTitles = ReadonlyMap<string, string>;

/** An origin such as `untrusted:TOOL`, in words. */
export function originWords(origin: string, titles: ToolTitles): string {
  const [kind, tool = ''] = origin.split(/:(.*)/s);
  const name = titles.get(tool) ?? tool;
  if (kind === 'trusted') return fill(words.byTool, name);
  if (kind === 'untrusted') return `${fill(words.byTool, name)}, ${words.notTrusted}`;
  return { user: words.user, author: words.author, model: words.model, runtime: words.runtime }[kind ?? ''] ?? origin;
}

/** The action of a node in the agent's graph of steps, in words. */
export function stepWords(node: NonNullable<Graph['steps']>['nodes'][number]): string {
  const detail = node.detail ?? '';
  switch (node.kind) {
    case 'request':
      return words.stepRequest;
    case 'ask':
      return words.stepAsk;
    case 'call':
      return fill(words.stepCall, detail);
    case 'end':
      return fill(words.stepEnd, detail);
    default:
      return detail || node.kind;
  }
}

/** The nodes of a graph of steps in the order in which they are reached, and then the others. */
export function stepsInOrder({ nodes, edges }: NonNullable<Graph['steps']>): NonNullable<Graph['steps']>['nodes'] {
  const reached = new Set(nodes.filter((node) => node.is_start).map((node) => node.name));
  for (const name of reached) for (const edge of edges) if (edge.from === name) reached.add(edge.to);
  const known = new Map(nodes.map((node) => [node.name, node]));
  return [...new Set([...reached, ...known.keys()])].flatMap((name) => known.get(name) ?? []);
}

/** The number of nodes with each status. */
export function countsOf(nodes: Node[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const node of nodes) counts.set(node.status, (counts.get(node.status) ?? 0) + 1);
  return [...counts];
}

/** A short summary of a step: the rest of its headline, which begins with its tool; else its first parameters. */
export function summaryOf(node: Node): string {
  const begin = [node.title, node.tool].find((name) => node.headline.startsWith(`${name} `));
  if (begin !== undefined) {
    const rest = node.headline.slice(begin.length + 1);
    return /^\((.*)\)$/s.exec(rest)?.[1] ?? rest;
  }
  const parts: string[] = [];
  const add = (value: unknown, name: string) => {
    if (parts.length > 3 || name.startsWith('_')) return;
    if (typeof value === 'object' && value !== null) for (const [inner, one] of Object.entries(value)) add(one, inner);
    else parts.push(`${name}: ${plainValue(value)}`);
  };
  for (const [name, value] of Object.entries((node.params ?? node.proposed ?? {}) as object)) add(value, name);
  return parts.join(', ');
}
