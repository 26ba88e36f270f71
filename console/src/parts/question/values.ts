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

/** Whether a text is neither empty nor looks like a number, a list, a reference or another word of JSON. */
function isPlain(text: string): boolean {
  if (text.trim() !== text || text === '' || /^[†[{"«]/u.test(text)) return false;
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
