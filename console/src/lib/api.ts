/** Requests to the server. Their types are generated from its description of the API. */

import { access } from './access.svelte';
import type { components, paths } from './schema';
import { settings } from './settings.svelte';

export type Schemas = components['schemas'];

type Method = 'get' | 'put' | 'post' | 'delete';
type Call<P extends keyof paths, M extends Method> = NonNullable<paths[P][M & keyof paths[P]]>;
type Json<R> = R extends { content: { 'application/json': infer T } } ? T : undefined;
type Responses<C> = C extends { responses: infer R } ? R : never;
/** The result of a request: the body of its successful answers. */
export type Result<P extends keyof paths, M extends Method> = {
  [S in keyof Responses<Call<P, M>>]: S extends 200 | 201 | 202 | 204 ? Json<Responses<Call<P, M>>[S]> : never;
}[keyof Responses<Call<P, M>>];
type Body<P extends keyof paths, M extends Method> =
  Call<P, M> extends { requestBody?: { content: { 'application/json': infer T } } } ? T : undefined;

export interface Options<P extends keyof paths, M extends Method> {
  /** Values of the parameters in the path, in order. */
  at?: string[];
  query?: Record<string, string | number | boolean | undefined>;
  body?: Body<P, M>;
  signal?: AbortSignal;
  /** The id of the input: repeated requests with the same id act once. */
  key?: string;
  /** A token to use instead of that of this tab. */
  token?: string;
}

/** A request that the server refused, or that did not reach it. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The address of a request. */
export function address(path: string, at: string[] = [], query: Options<never, never>['query'] = {}): string {
  let next = 0;
  const place = path.replace(/\{[^}]+\}/g, () => encodeURIComponent(at[next++] ?? ''));
  const search = new URLSearchParams({ lang: settings.lang });
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return `${place}?${search}`;
}

export function headers(token = access.token): Record<string, string> {
  return token ? { authorization: `Bearer ${token}` } : {};
}

/** The error in an answer. */
export async function errorOf(response: Response): Promise<ApiError> {
  const told = (await response.json().catch(() => null)) as Schemas['ErrorBody'] | null;
  const { code = 'unknown', message = response.statusText } = told?.error ?? {};
  if (response.status === 401) access.token = null;
  return new ApiError(response.status, code, message);
}

export async function call<P extends keyof paths, M extends Method>(
  method: M,
  path: P,
  options: Options<P, M> = {},
): Promise<Result<P, M>> {
  const { at, query, body, signal, key, token } = options;
  const sent = headers(token);
  if (body !== undefined) sent['content-type'] = 'application/json';
  if (key) sent['idempotency-key'] = key;
  const request: RequestInit = { method: method.toUpperCase(), headers: sent, cache: 'no-store' };
  if (body !== undefined) request.body = JSON.stringify(body);
  if (signal) request.signal = signal;
  let response: Response;
  try {
    response = await fetch(address(path, at, query), request);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'unreachable', String(error));
  }
  if (!response.ok) throw await errorOf(response);
  if (response.status === 204) return undefined as Result<P, M>;
  return (await response.json()) as Result<P, M>;
}

export const get = <P extends keyof paths>(path: P, options?: Options<P, 'get'>) => call('get', path, options);
export const post = <P extends keyof paths>(path: P, options?: Options<P, 'post'>) => call('post', path, options);

/** A new id of an input. */
export function inputId(): string {
  return crypto.randomUUID();
}
