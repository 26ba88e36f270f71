/** Places for the nodes of a graph, along its edges, and the ways of the edges between them. */

import { graphlib, layout } from '@dagrejs/dagre';

import { blockOf, blocksOf, placesIn, wayBetween, type Block, type Box } from './blocks';

export interface Size {
  width: number;
  height: number;
}

export interface Place {
  x: number;
  y: number;
}

/** An edge, and the room that its label needs. */
export interface Line {
  from: string;
  to: string;
  label: number;
}

/** The way of an edge around the nodes, and where its label stands. */
export interface Way {
  points: Place[];
  label: Place;
  /** Whether it goes from point to point, and bends at each; else it is one curve. */
  hasCorners?: boolean;
}

export type Direction = 'LR' | 'TB';

export interface Layout extends Size {
  places: Map<string, Place>;
  /** For each edge, in their order. */
  ways: (Way | undefined)[];
  direction: Direction;
}

/** Above this many nodes the quick way of ranking is taken. */
const MANY = 200;
/** So many times wider than high, a graph is a row. */
const WIDE = 6;
/** Between parts of a graph that no edge connects. */
const APART = 48;

/** Nodes that edges connect, and those edges with their numbers. */
interface Part {
  nodes: string[];
  lines: [number, Line][];
}

/** The parts of a graph between which there is no edge. Each is arranged alone: that is quicker, and needs less room. */
function partsOf(nodes: string[], lines: Line[]): Part[] {
  const above = new Map(nodes.map((node) => [node, node]));
  const top = (node: string): string => {
    let at = node;
    while (above.get(at) !== at) {
      above.set(at, above.get(above.get(at)!)!);
      at = above.get(at)!;
    }
    return at;
  };
  for (const line of lines) above.set(top(line.to), top(line.from));
  const parts = new Map<string, Part>();
  for (const node of nodes) {
    const part = parts.get(top(node));
    if (part) part.nodes.push(node);
    else parts.set(top(node), { nodes: [node], lines: [] });
  }
  lines.forEach((line, index) => parts.get(top(line.from))!.lines.push([index, line]));
  return [...parts.values()];
}

/** One part, with its corner at 0, 0. */
interface Placed extends Size {
  places: [string, Place][];
  ways: [number, Way][];
}

function placed({ nodes, lines }: Part, size: Size, room: Size, direction: Direction, hasLabels: boolean): Placed {
  const blocks = blocksOf(nodes, lines.map(([, line]) => line), size, room);
  const graph = new graphlib.Graph({ multigraph: true });
  const ranker = blocks.length > MANY ? 'longest-path' : 'network-simplex';
  graph.setGraph({ rankdir: direction, nodesep: 22, ranksep: direction === 'LR' ? 60 : 36, ranker });
  graph.setDefaultEdgeLabel(() => ({}));
  const blockBy = new Map(blocks.flatMap((block, index) => block.members.map((member): [string, number] => [member, index])));
  const isAlone = (block: number) => blocks[block]!.members.length === 1;
  blocks.forEach((block, index) => graph.setNode(String(index), { width: block.width, height: block.height }));
  for (const [number, line] of lines) {
    const [from, to] = [blockBy.get(line.from)!, blockBy.get(line.to)!];
    const label = line.label > 0 && hasLabels ? { width: line.label, height: 18, labelpos: 'c' } : {};
    // Edges of a block go the same way: it is looked for once.
    if (isAlone(from) && isAlone(to)) graph.setEdge(String(from), String(to), label, String(number));
    else graph.setEdge(String(from), String(to), {}, 'block');
  }
  layout(graph);
  const boxes = blocks.map((block, index): Box => {
    const { x, y } = graph.node(String(index)) as Place;
    return { x: x - block.width / 2, y: y - block.height / 2, width: block.width, height: block.height };
  });
  const places = blocks.flatMap((block, index) => placesIn(block, boxes[index]!, size));
  const placeBy = new Map(places);
  const ways = lines.map(([number, line]): [number, Way] => {
    const [from, to] = [blockBy.get(line.from)!, blockBy.get(line.to)!];
    const edge = graph.edge(String(from), String(to), String(number)) as (Place & { points: Place[] }) | undefined;
    if (!edge) {
      const node = (id: string): Box => ({ ...placeBy.get(id)!, ...size });
      return [number, wayBetween({ node: node(line.from), block: boxes[from]! }, { node: node(line.to), block: boxes[to]! }, direction)];
    }
    const middle = edge.points[Math.floor(edge.points.length / 2)]!;
    return [number, { points: edge.points, label: { x: edge.x ?? middle.x, y: edge.y ?? middle.y } }];
  });
  const { width = 0, height = 0 } = graph.graph() as Partial<Size>;
  return { places, ways, width, height };
}

/** The parts in rows, about in the shape of the room. Nodes that no edge touches stand in rows below them. */
function together(parts: Placed[], loose: string[], size: Size, room: Size, count: number, direction: Direction): Layout {
  const made: Layout = { places: new Map(), ways: Array.from({ length: count }), direction, width: 0, height: 0 };
  const area = parts.reduce((sum, part) => sum + (part.width + APART) * (part.height + APART), 0);
  const widest = Math.max(0, ...parts.map((part) => part.width));
  const most = Math.max(widest, Math.sqrt((area * room.width) / room.height));
  let [x, y, high] = [0, 0, 0];
  for (const part of parts) {
    if (x > 0 && x + part.width > most) [x, y, high] = [0, y + high + APART, 0];
    const moved = (place: Place): Place => ({ x: place.x + x, y: place.y + y });
    for (const [node, place] of part.places) made.places.set(node, moved(place));
    for (const [number, way] of part.ways) made.ways[number] = { ...way, points: way.points.map(moved), label: moved(way.label) };
    made.width = Math.max(made.width, x + part.width);
    high = Math.max(high, part.height);
    made.height = y + high;
    x += part.width + APART;
  }
  if (loose.length === 0) return made;
  const block: Block = blockOf(loose, size, room);
  const top = parts.length > 0 ? made.height + APART : 0;
  for (const [node, place] of placesIn(block, { x: 0, y: top }, size)) made.places.set(node, place);
  return { ...made, width: Math.max(made.width, block.width), height: top + block.height };
}

/** Places in the direction that fills a room of this size better. */
export function arranged(nodes: string[], lines: Line[], size: Size, room: Size): Layout {
  const linked = new Set(lines.flatMap((line) => [line.from, line.to]));
  const loose = nodes.filter((node) => !linked.has(node));
  const parts = partsOf(nodes.filter((node) => linked.has(node)), lines);
  const hasLabels = lines.length <= MANY;
  const tried = (direction: Direction): Layout => {
    const all = parts.map((part) => placed(part, size, room, direction, hasLabels));
    return together(all, loose, size, room, lines.length, direction);
  };
  const zoomOf = (made: Layout) => Math.min(1, room.width / made.width, room.height / made.height);
  const down = tried('TB');
  if (zoomOf(down) >= 0.9) return down;
  // A large graph is arranged a second time only where it became a row: a column of nodes, which are wide, is shorter, and is read like a list.
  const isLarge = parts.some((part) => part.nodes.length > MANY);
  if (isLarge && down.width < WIDE * down.height) return down;
  const across = tried('LR');
  return zoomOf(across) > zoomOf(down) ? across : down;
}
