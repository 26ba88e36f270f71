/** Nodes with the same neighbours stand in rows as one block: else they would make one long row or column. */

import type { Direction, Line, Place, Size, Way } from './layout';

/** So many nodes with the same neighbours become a block; fewer stand side by side. */
const BLOCK = 6;
/** Between two nodes of a block. Edges to the nodes behind the first row go through it. */
export const GAP = 20;

/** Nodes that stand together: in a block, or one alone. */
export interface Block extends Size {
  members: string[];
  columns: number;
}

export function blocksOf(nodes: string[], lines: Line[], size: Size, room: Size): Block[] {
  const [from, to] = [new Map<string, string[]>(), new Map<string, string[]>()];
  const add = (map: Map<string, string[]>, key: string, one: string) => {
    const known = map.get(key);
    if (known) known.push(one);
    else map.set(key, [one]);
  };
  for (const line of lines) {
    add(from, line.to, line.from);
    add(to, line.from, line.to);
  }
  const alike = new Map<string, string[]>();
  for (const node of nodes) add(alike, JSON.stringify([from.get(node)?.sort(), to.get(node)?.sort()]), node);
  const one = (member: string): Block => ({ members: [member], columns: 1, ...size });
  return [...alike.values()].flatMap((members) => (members.length < BLOCK ? members.map(one) : [blockOf(members, size, room)]));
}

/** A block of about the shape of the room. */
export function blockOf(members: string[], size: Size, room: Size): Block {
  const cell = { width: size.width + GAP, height: size.height + GAP };
  const shape = ((room.width / room.height) * cell.height) / cell.width;
  const columns = Math.max(2, Math.round(Math.sqrt(members.length * shape)));
  const rows = Math.ceil(members.length / columns);
  return { members, columns, width: columns * cell.width - GAP, height: rows * cell.height - GAP };
}

/** Where the members of a block stand whose corner is at a place. */
export function placesIn(block: Block, corner: Place, size: Size): [string, Place][] {
  return block.members.map((member, index) => {
    const [column, row] = [index % block.columns, Math.floor(index / block.columns)];
    return [member, { x: corner.x + column * (size.width + GAP), y: corner.y + row * (size.height + GAP) }];
  });
}

/** A box by its corner. */
export type Box = Place & Size;

/** The way of an edge between two blocks, in the gaps between their nodes. A node alone is a block of its own. */
export function wayBetween(from: { node: Box; block: Box }, to: { node: Box; block: Box }, direction: Direction): Way {
  const isAcross = direction === 'LR';
  // All is said for a graph from above to below; one from left to right is the same with the axes exchanged.
  const turned = (box: Box): Box => (isAcross ? { x: box.y, y: box.x, width: box.height, height: box.width } : box);
  const [source, sourceBlock, target, targetBlock] = [from.node, from.block, to.node, to.block].map(turned) as [Box, Box, Box, Box];
  const points: Place[] = [{ x: source.x + source.width / 2, y: source.y + source.height }];
  const leave = sourceBlock.y + sourceBlock.height + GAP / 2;
  const enter = targetBlock.y - GAP / 2;
  if (source.y + source.height < sourceBlock.y + sourceBlock.height - 1) {
    const lane = source.x + source.width + GAP / 2;
    points.push({ x: points[0]!.x, y: source.y + source.height + GAP / 2 }, { x: lane, y: source.y + source.height + GAP / 2 }, { x: lane, y: leave });
  } else {
    points.push({ x: points[0]!.x, y: leave });
  }
  const end = { x: target.x + target.width / 2, y: target.y };
  if (target.y > targetBlock.y + 1) {
    const lane = target.x - GAP / 2;
    points.push({ x: lane, y: enter }, { x: lane, y: target.y - GAP / 2 }, { x: end.x, y: target.y - GAP / 2 });
  } else {
    points.push({ x: end.x, y: enter });
  }
  points.push(end);
  const made = isAcross ? points.map(({ x, y }) => ({ x: y, y: x })) : points;
  return { points: made, label: made[Math.floor(made.length / 2)]!, hasCorners: true };
}
