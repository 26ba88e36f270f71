/** Numbers of tokens, and money. */

import { settings } from '../../lib/settings.svelte';

export const number = (n: number): string => new Intl.NumberFormat(settings.lang).format(n);

/** An amount in the currency of the price. Small amounts keep their digits. */
export function money(amount: number | null | undefined): string {
  if (amount === null || amount === undefined) return '–';
  return new Intl.NumberFormat(settings.lang, { minimumFractionDigits: 2, maximumFractionDigits: 6 }).format(amount);
}
