import { table } from '../../lib/words.svelte';

export const words = table({
  none: ['У этой сессии нет экземпляров: агент работает с одной записью за раз.', 'This session has no instances: the agent works on one record at a time.'],
  search: ['Найти по имени', 'Find by name'],
  all: ['все', 'all'],
  idle: ['без шагов', 'no steps'],
  matching: ['найден {}|найдено {}|найдено {}', '{} found|{} found'],
  errors: ['Ошибки', 'Errors'],
  name: ['Экземпляр', 'Instance'],
  status: ['Состояние', 'Status'],
  what: ['Что с ним', 'What came of it'],
  table: ['Экземпляры', 'Instances'],
  statuses: ['По состоянию', 'By status'],
  retry: [
    'Попросить агента повторить {} неудачный|Попросить агента повторить {} неудачных|Попросить агента повторить {} неудачных',
    'Ask the agent to try {} failed one again|Ask the agent to try {} failed ones again',
  ],
  retryWhat: ['Агент получит эти слова и сам решит, что повторить:', 'The agent is told these words, and decides what to do again:'],
  retryWords: ['Повтори для тех, у кого не получилось: {}', 'Try again for those that failed: {}'],
  retryMany: ['{} и ещё {}', '{} and {} more'],
  send: ['Отправить агенту', 'Send to the agent'],
  cancel: ['Отмена', 'Cancel'],
});
