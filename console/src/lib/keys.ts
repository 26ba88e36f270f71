/** Keys of the keyboard that screens listen to. They are found by their place, so that they work with a Russian keyboard too. */

/** Whether the reader types something, so that letters are no commands. */
function isTyping(target: EventTarget | null): boolean {
  const element = target instanceof HTMLElement ? target : null;
  return element?.closest('input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], dialog') != null;
}

/** The command of a key: a letter, `?`, or nothing. */
export function commandOf(event: KeyboardEvent): string | null {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) return null;
  if (event.key === '?' || (event.code === 'Slash' && event.shiftKey)) return '?';
  if (event.shiftKey) return null;
  const letter = /^Key([A-Z])$/.exec(event.code)?.[1];
  return letter ? letter.toLowerCase() : null;
}
