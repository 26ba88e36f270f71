/** Places for the nodes of a graph, along its edges. */

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

export type Direction = 'LR' | 'TB';

function placed(nodes: string[], edges: [string, string][], size: Size, direction: Direction): Map<string, Place> {
  const graph = new graphlib.Graph();
  graph.setGraph({
    rankdir: direction,
    nodesep: 22,
    ranksep: direction === 'LR' ? 60 : 36,
    ranker: nodes.length > MANY ? 'longest-path' : 'network-simplex',
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node, { ...size });
  // Labels need room beside the nodes.
  const label = edges.length > MANY ? {} : { width: 130, height: 18, labelpos: 'c' };
  for (const [from, to] of edges) graph.setEdge(from, to, { ...label });
  layout(graph);
  const places = new Map<string, Place>();
  for (const node of nodes) {
    const { x, y } = graph.node(node) as Place;
    places.set(node, { x: x - size.width / 2, y: y - size.height / 2 });
  }
  return places;
}

/** Nodes that no edge touches would make one long column: they stand in rows below the others. */
function addLoose(places: Map<string, Place>, loose: string[], size: Size): void {
  const columns = Math.max(3, Math.ceil(Math.sqrt(loose.length)));
  const bottom = Math.max(0, ...[...places.values()].map((place) => place.y + size.height + 40));
  loose.forEach((node, index) => {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    places.set(node, { x: column * (size.width + 24), y: (places.size > 0 ? bottom : 0) + row * (size.height + 20) });
  });
}

export interface Layout {
  places: Map<string, Place>;
  direction: Direction;
}

/** Places in the direction that fills a room of this size better. */
export function arranged(nodes: string[], edges: [string, string][], size: Size, room: Size): Layout {
  const linked = new Set(edges.flat());
  const loose = nodes.filter((node) => !linked.has(node));
  const tried = (direction: Direction): Layout & { zoom: number } => {
    const places = placed(nodes.filter((node) => linked.has(node)), edges, size, direction);
    addLoose(places, loose, size);
    const all = [...places.values()];
    const width = Math.max(0, ...all.map((place) => place.x)) + size.width;
    const height = Math.max(0, ...all.map((place) => place.y)) + size.height;
    return { places, direction, zoom: Math.min(1, room.width / width, room.height / height) };
  };
  const down = tried('TB');
  if (nodes.length > MANY || down.zoom >= 0.9) return down;
  const across = tried('LR');
  return across.zoom > down.zoom ? across : down;
}
