/** A question on one line, with titles of tools instead of names. */

import { count, table } from '../../lib/words.svelte';
import type { Question } from './decide';

const words = table({
  plan: ['План из {} шага|План из {} шагов|План из {} шагов', 'A plan of {} step|A plan of {} steps'],
});

export function headlineOf(row: Question): string {
  const titles = [...new Set(row.view.calls.map((call) => call.title))];
  if (row.about === 'plan' && row.view.calls.length > 1) return `${count(words.plan, row.view.calls.length)}: ${titles.join(', ')}`;
  const tool = (row.calls[0] as { _tool?: string } | undefined)?._tool;
  const title = titles[0];
  return tool && title && row.headline.startsWith(tool) ? title + row.headline.slice(tool.length) : row.headline;
}
