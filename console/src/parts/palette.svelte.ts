/** Whether the palette is open, and commands that the present screen adds to it. */

import type { IconName } from './Icon.svelte';

export interface Command {
  id: string;
  title: string;
  /** What kind of thing it is. */
  hint?: string;
  icon: IconName;
  run: () => void;
}

class PaletteState {
  isOpen = $state(false);
  /** Commands of the screen that is shown. */
  own = $state.raw<Command[]>([]);

  open(): void {
    this.isOpen = true;
  }

  close(): void {
    this.isOpen = false;
  }

  /** Adds commands while an effect is alive. */
  offer(commands: Command[]): () => void {
    this.own = commands;
    return () => {
      if (this.own === commands) this.own = [];
    };
  }
}

export const palette = new PaletteState();
