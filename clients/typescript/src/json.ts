// Reads JSON that any program wrote: a member that is missing or of another type reads as empty. Pure functions.

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member; undefined when there is none, or when the value is no object. */
export function member(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

export function text(value: Json | undefined, name: string): string {
  const found = member(value, name);
  return typeof found === "string" ? found : "";
}

export function whole(value: Json | undefined, name: string): number {
  const found = member(value, name);
  return typeof found === "number" && Number.isSafeInteger(found) ? found : 0;
}

export function flag(value: Json | undefined, name: string): boolean {
  return member(value, name) === true;
}

export function items(value: Json | undefined, name: string): Json[] {
  const found = member(value, name);
  return Array.isArray(found) ? found : [];
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The id in lower case; undefined when it is none. */
export function uuid(value: string): string | undefined {
  const id = value.toLowerCase();
  return UUID.test(id) ? id : undefined;
}
