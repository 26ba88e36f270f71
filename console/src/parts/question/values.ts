/** Values of calls as people write them. */

import { words } from './words';

/** A value for display: a text without its quotes if it cannot be mistaken for another type, `true` and `false` as words. */
export function unquoted(value: string): string {
  if (value === 'true') return words.yes;
  if (value === 'false') return words.no;
  if (!/^".*"$/s.test(value)) return value;
  try {
    const text: unknown = JSON.parse(value);
    return typeof text === 'string' && isPlain(text) ? text : value;
  } catch {
    return value;
  }
}

/** Three line breaks in a row: more of them could push the rest of a text out of sight. */
const GAP = /[\n\r\u2028\u2029]\s*[\n\r\u2028\u2029]\s*[\n\r\u2028\u2029]/u;

/** Whether a text is neither empty nor looks like a number, a list, a reference or another word of JSON, and has no gap. */
function isPlain(text: string): boolean {
  if (text.trim() !== text || text === '' || GAP.test(text) || /^[†[{"«]/u.test(text)) return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

/** A label such as `"How often" (will be sent)` without its quotes. */
export function plainLabel(label: string): string {
  return label.replace(/^"([^"\\]+)"/, '$1');
}
