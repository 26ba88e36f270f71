/** Keyboard shortcuts of screens. They go by the position of the key, so that they work with a Russian keyboard too. */

/** Whether the user is typing, so that letters are not commands. A dialog that was just closed still has the focus until the next frame. */
function isTyping(target: EventTarget | null): boolean {
  const element = target instanceof HTMLElement ? target : null;
  return element?.closest('input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], dialog[open]') != null;
}

/** The command of a key: a letter, `?`, or null. */
export function commandOf(event: KeyboardEvent): string | null {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) return null;
  if (event.key === '?' || (event.code === 'Slash' && event.shiftKey)) return '?';
  if (event.shiftKey) return null;
  const letter = /^Key([A-Z])$/.exec(event.code)?.[1];
  return letter ? letter.toLowerCase() : null;
}
