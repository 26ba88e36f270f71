/** Words for people, each in Russian and in English side by side, so that none can be missing. */

import { settings } from './settings.svelte';

type Pair = readonly [ru: string, en: string];

/** A table in the user's language. Its words change with the language wherever they are shown. */
export function table<T extends Record<string, Pair>>(pairs: T): { readonly [K in keyof T]: string } {
  const words = {} as { [K in keyof T]: string };
  for (const name of Object.keys(pairs) as (keyof T)[]) {
    Object.defineProperty(words, name, {
      enumerable: true,
      get: () => pairs[name]?.[settings.lang === 'ru' ? 0 : 1] ?? '',
    });
  }
  return words;
}

/** Puts values into the places `{}` of a phrase. */
export function fill(phrase: string, ...values: (string | number)[]): string {
  let next = 0;
  return phrase.replace(/\{\}/g, () => String(values[next++] ?? ''));
}

/** A number with its noun. The forms are separated by `|`: for one, for few (in Russian), for many. */
export function count(forms: string, n: number): string {
  const all = forms.split('|');
  const rule = new Intl.PluralRules(settings.lang).select(n);
  const place = rule === 'one' ? 0 : rule === 'few' && all.length > 2 ? 1 : all.length - 1;
  return fill(all[place] ?? forms, new Intl.NumberFormat(settings.lang).format(n));
}
