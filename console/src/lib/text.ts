/** Text from models, pages and records, made safe to show. The same characters as in the library's `visible`. */

/** Ranges of characters that hide or mislead: control, direction, format and filler characters. */
const MISLEADS =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\ufeff\ufffe\uffff\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufff9-\ufffb\u2800\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{13430}-\u{1343f}\u{e0000}-\u{e007f}\u{e0100}-\u{e01ef}]/gu;

const NAMED: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text with every misleading character as an escape such as `\u{202e}`. `keepsLines` keeps line breaks. */
export function visible(text: string, keepsLines = false): string {
  return text.replace(MISLEADS, (c) => {
    if (keepsLines && c === '\n') return c;
    return NAMED[c] ?? `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** The beginning of a text, not cut within a character. */
export function beginning(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHalf ? most - 1 : most);
}

/** A value of JSON on one line, as a person would write it. */
export function plainValue(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return JSON.stringify(value);
}
