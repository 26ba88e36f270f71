/** Screens of a session that are loaded when they are first opened, so that the first load stays small. */

import type { Component } from 'svelte';

import type { Tab } from './router.svelte';

export type SessionScreen = Component<{ id: string }>;

type Load = () => Promise<{ default: SessionScreen }>;

export const SCREENS: Partial<Record<Tab, Load>> = {
  chat: () => import('../screens/chat/Chat.svelte'),
  plan: () => import('../screens/plan/Plan.svelte'),
};
