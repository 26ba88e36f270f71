/** The state of the palette, and the commands that the present screen adds. */

import type { IconName } from './Icon.svelte';

export interface Command {
  id: string;
  title: string;
  /** The kind of the entry. */
  hint?: string;
  icon: IconName;
  run: () => void;
}

class PaletteState {
  isOpen = $state(false);
  /** Commands of the present screen. */
  own = $state.raw<Command[]>([]);

  open(): void {
    this.isOpen = true;
  }

  close(): void {
    this.isOpen = false;
  }

  /** Adds commands; the returned function removes them. */
  offer(commands: Command[]): () => void {
    this.own = commands;
    return () => {
      if (this.own === commands) this.own = [];
    };
  }
}

export const palette = new PaletteState();
