/** The present place. It is the part of the address after `#`, so that the server has only one page. */

export type Tab = 'chat' | 'plan' | 'state' | 'timeline' | 'instances' | 'log';

export const TABS: readonly Tab[] = ['chat', 'plan', 'state', 'timeline', 'instances', 'log'];

export type Route =
  | { name: 'home' }
  | { name: 'inbox'; question?: string }
  | { name: 'agents'; agent?: string }
  | { name: 'session'; id: string; tab: Tab };

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function parse(hash: string): Route {
  const [first, ...rest] = hash.replace(/^#\/?/, '').split('?')[0]!.split('/').map(decoded);
  switch (first) {
    case 'inbox':
      return rest[0] ? { name: 'inbox', question: rest[0] } : { name: 'inbox' };
    case 'agents':
      return rest[0] ? { name: 'agents', agent: rest[0] } : { name: 'agents' };
    case 's': {
      const tab = TABS.find((known) => known === rest[1]) ?? 'chat';
      return rest[0] ? { name: 'session', id: rest[0], tab } : { name: 'home' };
    }
    default:
      return { name: 'home' };
  }
}

/** The address of a place. */
export function href(...parts: string[]): string {
  return '#/' + parts.map(encodeURIComponent).join('/');
}

class Router {
  route = $state<Route>(parse(location.hash));

  constructor() {
    addEventListener('hashchange', () => (this.route = parse(location.hash)));
  }

  /** Goes to a place at once: the browser tells of a new hash only later, and a key pressed before would act on the old place. */
  go(...parts: string[]): void {
    location.hash = href(...parts);
    this.route = parse(location.hash);
  }
}

export const router = new Router();
