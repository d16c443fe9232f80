// Failure: why a request got no usable answer. `kind` is for programs, the message for people; neither ever contains a
// token or a body. Every call of ApiClient throws it and nothing else.

export type FailureKind =
  | "bad_url" // the address, or a proxy's address from the environment, is not valid
  | "unreachable" // no such host, refused, no route, or the proxy refused
  | "tls" // no secure connection: certificate, name or protocol
  | "timeout" // connected, but no data for too long
  | "cut" // the connection ended before the answer did
  | "protocol" // the answer is not HTTP, or not what this call expects
  | "too_large" // the answer is bigger than the caller allowed
  | "status" // a complete answer that is not 2xx
  | "stopped" // the caller's own sink or source stopped it
  | "cancelled"; // the client was closed

export class Failure extends Error {
  override name = "Failure";
  readonly kind: FailureKind;
  /** Of kind `status`. */
  readonly status: number;
  /** Of kind `status`: the stable code of the server's error; empty when it sent none. */
  readonly code: string;
  /** Seconds; undefined when the server did not say. */
  readonly retryAfter: number | undefined;

  constructor(kind: FailureKind, sentence: string, more: { status?: number; code?: string; retryAfter?: number | undefined } = {}) {
    super(sentence);
    this.kind = kind;
    this.status = more.status ?? 0;
    this.code = more.code ?? "";
    this.retryAfter = more.retryAfter;
  }

  isStatus(wanted: number): boolean {
    return this.kind === "status" && this.status === wanted;
  }

  /** Whether the same request may succeed later without a change on this side. */
  get passes(): boolean {
    switch (this.kind) {
      case "unreachable":
      case "timeout":
      case "cut":
      case "tls": // behind a hotel's sign-in page a laptop gets this until a person signs in
      case "protocol":
        return true;
      case "status":
        // 501 is permanent: this server does not implement the method.
        return this.status === 408 || this.status === 429 || (this.status >= 500 && this.status !== 501);
      default:
        return false;
    }
  }

  /** The same, or a redirect: it may come from the sign-in page of a network, which answers every request so. */
  get mayYetSucceed(): boolean {
    return this.passes || (this.kind === "status" && this.status >= 300 && this.status < 400);
  }
}

/** The error as a Failure. Anything else is a bug of ours and is thrown on. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  throw error;
}

/** What a person reads of any error. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
