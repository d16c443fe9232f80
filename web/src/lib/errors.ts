import { bytes } from './format';

// ApiError: a request that was not answered 2xx, or not answered at all (status 0). `message` is a sentence for a
// person: the server's own where there is one, with the limit it names.
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(message);
    this.name = 'ApiError';
  }

  get signedOut(): boolean {
    return this.status === 401;
  }
}

export function unreachable(): ApiError {
  return new ApiError(0, 'unreachable', 'The server cannot be reached. Is it running, and is the network up?');
}

export function errorFromAnswer(status: number, body: string, retryAfter: string | null): ApiError {
  const facts = parseObject(body);
  const sentence = typeof facts['error'] === 'string' ? facts['error'] : `The server answered ${status}.`;
  const code = typeof facts['code'] === 'string' ? facts['code'] : `http_${status}`;
  const limit = status === 413 && typeof facts['max'] === 'number' ? ` (the limit is ${bytes(facts['max'])})` : '';
  const wait = Number(retryAfter);
  return new ApiError(status, code, asSentence(sentence, limit), wait > 0 ? wait : null);
}

export function sentenceOf(error: unknown): string {
  return error instanceof ApiError ? error.message : 'Something went wrong in the page itself.';
}

function asSentence(text: string, suffix: string): string {
  const body = text.charAt(0).toUpperCase() + text.slice(1).replace(/\.$/, '');
  return /[?!…]$/.test(body) ? body + suffix : `${body}${suffix}.`;
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
