/** The layout of a graph: positions of nodes and routes of edges. */

import { graphlib, layout } from '@dagrejs/dagre';

export interface Size {
  width: number;
  height: number;
}

export interface Place {
  x: number;
  y: number;
}

/** An edge, and the width of its label. */
export interface Line {
  from: string;
  to: string;
  label: number;
}

/** The route of an edge around the nodes, and the position of its label. */
export interface Way {
  points: Place[];
  label: Place;
}

export type Direction = 'LR' | 'TB';

export interface Layout {
  places: Map<string, Place>;
  /** One for each edge, in order; undefined for a direct line. */
  ways: (Way | undefined)[];
  direction: Direction;
}

/** Above this many blocks a faster ranking is used; above this many edges labels get no room. */
const MANY = 200;
/** At least this many nodes with the same neighbours become a block. */
const BLOCK = 6;
const GAP = 20;

/** Nodes in rows and columns, or a single node. */
interface Block extends Size {
  members: string[];
  columns: number;
}

/** Groups nodes with the same neighbours, which would otherwise make one long row or column. */
function blocksOf(nodes: string[], lines: Line[], size: Size, room: Size): Block[] {
  const [from, to] = [new Map<string, string[]>(), new Map<string, string[]>()];
  const add = (map: Map<string, string[]>, key: string, one: string) => map.set(key, [...(map.get(key) ?? []), one]);
  for (const line of lines) {
    add(from, line.to, line.from);
    add(to, line.from, line.to);
  }
  const alike = new Map<string, string[]>();
  for (const node of nodes) add(alike, JSON.stringify([from.get(node)?.sort(), to.get(node)?.sort()]), node);
  const one = (member: string): Block => ({ members: [member], columns: 1, ...size });
  return [...alike.values()].flatMap((members) => (members.length < BLOCK ? members.map(one) : [blockOf(members, size, room)]));
}

/** A block with about the aspect ratio of the room. */
function blockOf(members: string[], size: Size, room: Size): Block {
  const cell = { width: size.width + GAP, height: size.height + GAP };
  const shape = ((room.width / room.height) * cell.height) / cell.width;
  const columns = Math.max(2, Math.round(Math.sqrt(members.length * shape)));
  const rows = Math.ceil(members.length / columns);
  return { members, columns, width: columns * cell.width - GAP, height: rows * cell.height - GAP };
}

function placed(blocks: Block[], lines: Line[], size: Size, direction: Direction): Layout {
  const graph = new graphlib.Graph({ multigraph: true });
  const ranker = blocks.length > MANY ? 'longest-path' : 'network-simplex';
  graph.setGraph({ rankdir: direction, nodesep: 22, ranksep: direction === 'LR' ? 60 : 36, ranker });
  graph.setDefaultEdgeLabel(() => ({}));
  const blockBy = new Map(blocks.flatMap((block, index) => block.members.map((member): [string, string] => [member, String(index)])));
  blocks.forEach((block, index) => graph.setNode(String(index), { width: block.width, height: block.height }));
  lines.forEach((line, index) => {
    const [from, to] = [blockBy.get(line.from)!, blockBy.get(line.to)!];
    const isBetweenBlocks = blocks[Number(from)]!.members.length + blocks[Number(to)]!.members.length > 2;
    const label = line.label > 0 && lines.length <= MANY ? { width: line.label, height: 18, labelpos: 'c' } : {};
    // All edges between two blocks are one edge for the layout.
    graph.setEdge(from, to, isBetweenBlocks ? {} : label, isBetweenBlocks ? 'block' : String(index));
  });
  layout(graph);
  const places = new Map<string, Place>();
  blocks.forEach((block, index) => {
    const { x, y } = graph.node(String(index)) as Place;
    block.members.forEach((member, place) => {
      const [column, row] = [place % block.columns, Math.floor(place / block.columns)];
      places.set(member, {
        x: x - block.width / 2 + column * (size.width + GAP),
        y: y - block.height / 2 + row * (size.height + GAP),
      });
    });
  });
  const ways = lines.map((line, index): Way | undefined => {
    const edge = graph.edge(blockBy.get(line.from)!, blockBy.get(line.to)!, String(index)) as (Place & { points: Place[] }) | undefined;
    if (!edge) return undefined;
    const middle = edge.points[Math.floor(edge.points.length / 2)]!;
    return { points: edge.points, label: { x: edge.x ?? middle.x, y: edge.y ?? middle.y } };
  });
  return { places, ways, direction };
}

/** Puts nodes without edges in rows below the others. */
function addLoose(places: Map<string, Place>, loose: string[], size: Size, room: Size): void {
  const { columns } = blockOf(loose, size, room);
  const bottom = Math.max(0, ...[...places.values()].map((place) => place.y + size.height + 40));
  loose.forEach((node, index) => {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    places.set(node, { x: column * (size.width + GAP), y: bottom + row * (size.height + GAP) });
  });
}

/** The layout in the direction that fills the room better. */
export function arranged(nodes: string[], lines: Line[], size: Size, room: Size): Layout {
  const linked = new Set(lines.flatMap((line) => [line.from, line.to]));
  const loose = nodes.filter((node) => !linked.has(node));
  const blocks = blocksOf(nodes.filter((node) => linked.has(node)), lines, size, room);
  const tried = (direction: Direction): Layout & { zoom: number } => {
    const made = placed(blocks, lines, size, direction);
    addLoose(made.places, loose, size, room);
    const all = [...made.places.values()];
    const width = Math.max(0, ...all.map((place) => place.x)) + size.width;
    const height = Math.max(0, ...all.map((place) => place.y)) + size.height;
    return { ...made, zoom: Math.min(1, room.width / width, room.height / height) };
  };
  const down = tried('TB');
  if (blocks.length > MANY || down.zoom >= 0.9) return down;
  const across = tried('LR');
  return across.zoom > down.zoom ? across : down;
}
