/** The values of the state as a tree. */

import type { Schemas } from '../../lib/api';
import { plainValue } from '../../lib/text';

export type StateValue = Schemas['StateValue'];

export interface Branch {
  /** The last part of the path, for people. */
  name: string;
  path: string;
  value: StateValue | null;
  below: Branch[];
}

/** The titles of the tools that wrote these values, by their names. */
export function titlesOf(values: StateValue[]): Map<string, string> {
  return new Map(values.flatMap(({ writer }) => (writer?.name && writer.title ? [[writer.name, writer.title] as const] : [])));
}

/** The parts of a path such as `†state.deal["a b"][0]`. */
export function partsOf(path: string): string[] {
  const parts = path.match(/†?[^.[\]]+|\[(?:\d+|"(?:[^"\\]|\\.)*")\]/g) ?? [path];
  return parts.map((part) => {
    if (!part.startsWith('[')) return part;
    const inner = part.slice(1, -1);
    if (!inner.startsWith('"')) return String(Number(inner) + 1);
    try {
      return String(JSON.parse(inner));
    } catch {
      return inner;
    }
  });
}

/** The values as a tree, without their common first part. */
export function treeOf(values: StateValue[]): Branch[] {
  const root: Branch = { name: '', path: '', value: null, below: [] };
  const known = new Map<string, Branch>([['', root]]);
  for (const value of values) {
    let above = root;
    let key = '';
    for (const name of partsOf(value.path).slice(1)) {
      key += `/${name}`;
      let branch = known.get(key);
      if (!branch) {
        branch = { name, path: key, value: null, below: [] };
        known.set(key, branch);
        above.below.push(branch);
      }
      above = branch;
    }
    above.value = value;
  }
  return root.below;
}

/** The values whose path or text contains the search text. */
export function found(values: StateValue[], search: string): StateValue[] {
  const wanted = search.trim().toLowerCase();
  if (!wanted) return values;
  return values.filter((one) => `${one.path} ${plainValue(one.value)}`.toLowerCase().includes(wanted));
}
