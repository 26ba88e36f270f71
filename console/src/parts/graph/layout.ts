/** Places for the nodes of a graph, from left to right along its edges. */

import { graphlib, layout } from '@dagrejs/dagre';

export interface Size {
  width: number;
  height: number;
}

export interface Place {
  x: number;
  y: number;
}

/** Above this many nodes the quick way of ranking is taken. */
const MANY = 200;

export function placed(nodes: string[], edges: [string, string][], size: Size, direction: 'LR' | 'TB' = 'LR'): Map<string, Place> {
  const graph = new graphlib.Graph();
  graph.setGraph({
    rankdir: direction,
    nodesep: 22,
    ranksep: direction === 'LR' ? 130 : 60,
    ranker: nodes.length > MANY ? 'longest-path' : 'network-simplex',
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node, { ...size });
  for (const [from, to] of edges) graph.setEdge(from, to);
  layout(graph);
  const places = new Map<string, Place>();
  for (const node of nodes) {
    const { x, y } = graph.node(node) as Place;
    places.set(node, { x: x - size.width / 2, y: y - size.height / 2 });
  }
  return places;
}

/** Nodes that no edge touches would make one long column: they stand in rows below the others. */
export function withLoose(places: Map<string, Place>, loose: string[], size: Size): void {
  const columns = Math.max(3, Math.ceil(Math.sqrt(loose.length)));
  const bottom = Math.max(0, ...[...places.values()].map((place) => place.y + size.height + 40));
  loose.forEach((node, index) => {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    places.set(node, { x: column * (size.width + 24), y: (places.size > 0 ? bottom : 0) + row * (size.height + 20) });
  });
}
