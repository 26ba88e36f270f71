/** The token of this tab. It is never part of an address, and ends with the tab. */

const TOKEN = 'obelus.token';

class Access {
  #token = $state<string | null>(sessionStorage.getItem(TOKEN));

  get token(): string | null {
    return this.#token;
  }

  set token(token: string | null) {
    this.#token = token;
    if (token) sessionStorage.setItem(TOKEN, token);
    else sessionStorage.removeItem(TOKEN);
  }
}

export const access = new Access();

/** Returns the one-time code and removes it from the address and the history. */
export function takeCode(): string | null {
  const found = /^#code=([A-Za-z0-9_-]{8,256})$/.exec(location.hash);
  if (found) history.replaceState(null, '', location.pathname + location.search);
  return found?.[1] ?? null;
}
