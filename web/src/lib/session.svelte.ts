import { currentSession, signIn, signOut } from './api';
import { ApiError, sentenceOf } from './errors';
import { takeToken } from './route.svelte';
import type { Session } from './wire';

// Who is signed in. The token itself is never kept: it is exchanged once for the server's HttpOnly cookie.
class SessionState {
  phase = $state<'starting' | 'out' | 'in'>('starting');
  current = $state.raw<Session | null>(null);
  error = $state('');

  // Uses the token in the address if there is one, else asks the server whether the cookie is still valid.
  async start(): Promise<void> {
    const token = takeToken();
    if (token) return this.enter(token);
    try {
      this.#welcome(await currentSession());
    } catch (error) {
      const merelyOut = error instanceof ApiError && error.signedOut;
      this.#leave(merelyOut ? '' : sentenceOf(error));
    }
  }

  async enter(token: string): Promise<void> {
    this.error = '';
    try {
      this.#welcome(await signIn(token));
    } catch (error) {
      const wrong = error instanceof ApiError && error.signedOut;
      this.#leave(wrong ? 'This token is not valid here. It may have been revoked, or belong to another server.' : sentenceOf(error));
    }
  }

  async exit(): Promise<void> {
    try {
      await signOut();
      this.#leave('');
    } catch (error) {
      // The server still has the session: this browser can still use it, so the page must not show that it has ended.
      if (error instanceof ApiError && error.signedOut) this.#leave('');
      else this.error = sentenceOf(error);
    }
  }

  // Called after a 401. A late answer can come after the person has signed out; then there is nothing to report.
  expired(): void {
    if (this.phase !== 'in') return;
    this.#leave('Your session has ended. Sign in again to go on.');
  }

  #welcome(session: Session): void {
    this.current = session;
    this.error = '';
    this.phase = 'in';
  }

  #leave(error: string): void {
    this.current = null;
    this.error = error;
    this.phase = 'out';
  }
}

export const session = new SessionState();
