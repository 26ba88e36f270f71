/** The user's choice of language and colours, stored in this browser. */

export type Lang = 'ru' | 'en';
export type Theme = 'auto' | 'light' | 'dark';

const LANG = 'obelus.lang';
const THEME = 'obelus.theme';

/** A browser may refuse to store anything; the page works without. */
function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Nothing is stored.
  }
}

function isLang(text: string | null): text is Lang {
  return text === 'ru' || text === 'en';
}

/** `?lang` in the address, else the stored choice, else the browser's language. */
function firstLang(): Lang {
  const asked = new URLSearchParams(location.search).get('lang');
  if (isLang(asked)) return asked;
  const kept = stored(LANG);
  if (isLang(kept)) return kept;
  return navigator.language.toLowerCase().startsWith('ru') ? 'ru' : 'en';
}

function firstTheme(): Theme {
  const kept = stored(THEME);
  return kept === 'light' || kept === 'dark' ? kept : 'auto';
}

class Settings {
  #lang = $state<Lang>(firstLang());
  #theme = $state<Theme>(firstTheme());

  get lang(): Lang {
    return this.#lang;
  }

  set lang(lang: Lang) {
    this.#lang = lang;
    store(LANG, lang);
    this.apply();
  }

  get theme(): Theme {
    return this.#theme;
  }

  set theme(theme: Theme) {
    this.#theme = theme;
    store(THEME, theme);
    this.apply();
  }

  /** Applies the choice to the document. */
  apply(): void {
    document.documentElement.lang = this.#lang;
    document.documentElement.dataset.theme = this.#theme;
  }
}

export const settings = new Settings();
