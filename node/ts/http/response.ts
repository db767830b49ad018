// Fields on a response of Node's own.

import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from "node:http";

import type { Fields } from "./fields.js";

/** Where fields stand: a response of Node's own, or what a framework has for it. */
export interface Headers {
  get(name: string): unknown;
  set(name: string, value: string): void;
}

/** Adds the fields to those that are there: a list behind a comma, a time only where there is none. */
export function addFields(headers: Headers, { policy, limit, retryAfter }: Fields): void {
  append(headers, "RateLimit-Policy", policy);
  append(headers, "RateLimit", limit);
  if (retryAfter !== undefined && headers.get("Retry-After") === undefined) headers.set("Retry-After", retryAfter);
}

function append(headers: Headers, name: string, ours: string | undefined): void {
  if (ours === undefined) return;
  const there = headers.get(name);
  const theirs = Array.isArray(there) ? there.join(", ") : text(there);
  headers.set(name, theirs === "" ? ours : `${theirs}, ${ours}`);
}

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

type Given = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * Adds the fields when the head of the response is written: whatever the handler, or the framework for its error, has set until then
 * is kept.
 */
export function addFieldsLast(response: ServerResponse, fields: Fields): void {
  const writeHead = response.writeHead.bind(response) as (status: number, ...rest: unknown[]) => ServerResponse;
  const headers: Headers = {
    get: (name) => response.getHeader(name),
    set: (name, value) => response.setHeader(name, value),
  };
  const wrapper = (status: number, ...rest: unknown[]): ServerResponse => {
    if (response.headersSent) return writeHead(status, ...rest);
    // A second call is an error, which the original reports.
    response.writeHead = writeHead;
    // Null stands for a reason or for headers that are not given.
    const at = typeof rest[0] === "object" && rest[0] !== null ? 0 : 1;
    if (typeof rest[at] === "object" && rest[at] !== null) rest[at] = withoutOurs(rest[at] as Given, headers);
    addFields(headers, fields);
    return writeHead(status, ...rest);
  };
  response.writeHead = wrapper;
}

const OURS = ["ratelimit-policy", "ratelimit", "retry-after"];

/** What is given along with the status would replace what is set: ours are set instead, so that they can be added to. */
function withoutOurs(given: Given, headers: Headers): Given {
  const pairs = Array.isArray(given) ? pairsOf(given) : (Object.entries(given) as Pair[]);
  const isOurs = ([name]: [string, unknown]): boolean => OURS.includes(name.toLowerCase());
  if (!pairs.some(isOurs)) return given;
  // One that is given several times is a list.
  for (const ours of OURS) {
    const values = pairs.filter(([name]) => name.toLowerCase() === ours).flatMap(([, value]) => value);
    if (values.length > 0) headers.set(ours, values.join(", "));
  }
  const rest = pairs.filter((pair) => !isOurs(pair));
  return Array.isArray(given) ? rest.flat() : Object.fromEntries(rest);
}

type Pair = [string, OutgoingHttpHeader];

/** Names and values in turn, or as pairs. */
function pairsOf(given: readonly unknown[]): Pair[] {
  if (given.every((pair) => Array.isArray(pair))) return given as Pair[];
  return Array.from({ length: given.length / 2 }, (_, at) => [String(given[2 * at]), given[2 * at + 1] as string]);
}

/** Whether nothing can be answered any more: it was, or the client is gone. */
export function isOver(response: ServerResponse): boolean {
  if (response.headersSent || response.writableEnded || response.destroyed) return true;
  const { stream, req } = response as { stream?: Ends; req?: { socket?: Ends | null } };
  // Of HTTP/2 the stream tells it; of a request that was pipelined behind another, only the connection.
  return (stream ?? req?.socket)?.destroyed === true;
}

interface Ends {
  readonly destroyed?: boolean;
}
