/** Times for people. */

import { settings } from './settings.svelte';

/** A moment; only the time if it is today. */
export function shortTime(text: string, hasSeconds = false, now = new Date()): string {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  const isToday = at.toDateString() === now.toDateString();
  const day: Intl.DateTimeFormatOptions = isToday ? {} : { day: 'numeric', month: 'short' };
  const second: Intl.DateTimeFormatOptions = hasSeconds ? { second: '2-digit' } : {};
  return new Intl.DateTimeFormat(settings.lang, { ...day, hour: 'numeric', minute: '2-digit', ...second }).format(at);
}

/** A moment in full, with the time zone. */
export function fullTime(text: string): string {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  return new Intl.DateTimeFormat(settings.lang, { dateStyle: 'long', timeStyle: 'long' }).format(at);
}

/** Moments within a text, such as `2026-11-16T17:42:32Z`, as people write them. */
export function withTimes(text: string): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g, (moment) => fullTime(moment));
}

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** The distance of a moment from now. */
export function relativeTime(text: string, now = Date.now()): string {
  const distance = new Date(text).getTime() - now;
  if (Number.isNaN(distance)) return text;
  const words = new Intl.RelativeTimeFormat(settings.lang, { numeric: 'auto' });
  for (const [unit, size] of UNITS) {
    if (Math.abs(distance) >= size) return words.format(Math.round(distance / size), unit);
  }
  return words.format(0, 'second');
}

/** How long ago a moment was, for places with little room. */
export function age(text: string, now = Date.now()): string {
  const distance = now - new Date(text).getTime();
  const unit = UNITS.find(([, size]) => distance >= size);
  if (!unit) return new Intl.RelativeTimeFormat(settings.lang, { numeric: 'auto' }).format(0, 'second');
  const [name, size] = unit;
  return new Intl.NumberFormat(settings.lang, { style: 'unit', unit: name, unitDisplay: 'short' }).format(Math.floor(distance / size));
}
