import './app.css';

import { mount } from 'svelte';

import App from './App.svelte';
import { router } from './lib/router.svelte';
import { SCREENS } from './lib/screens';
import { settings } from './lib/settings.svelte';

settings.apply();
// The code of the screen is loaded while the token is checked. An error shows where the screen is.
if (router.route.name === 'session') void SCREENS[router.route.tab]?.().catch(() => {});
mount(App, { target: document.getElementById('app')! });
