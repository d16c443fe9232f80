import { abortSessionRequests, currentSession, findWorkspace, ownerOf, signIn, signOut } from './api';
import { ApiError, sentenceOf } from './errors';
import { takeToken } from './route.svelte';
import { isSamePerson, sentenceOfLink, sentenceOfSession } from './whose';
import type { Session } from './wire';

const kInvalid = 'This token is not valid here. It may have been revoked, or belong to another server.';

// A link that would replace the session; two sentences say whose the session and the link are.
export interface Offer {
  token: string;
  present: string;
  link: string;
}

// Who is signed in. The token itself is never kept: it is exchanged once for the server's HttpOnly cookie.
class SessionState {
  phase = $state<'starting' | 'out' | 'in'>('starting');
  current = $state.raw<Session | null>(null);
  error = $state('');
  // Shown until the person has decided.
  offer = $state.raw<Offer | null>(null);

  // Asks the server whose the cookie is; another window may have changed it. A link signs in when nobody is signed in, or the
  // same person; over somebody else's session it is only offered.
  async start(): Promise<void> {
    const token = takeToken();
    let found: Session;
    try {
      found = await currentSession();
    } catch (error) {
      const merelyOut = error instanceof ApiError && error.signedOut;
      if (token && merelyOut) return this.enter(token);
      return this.#leave(merelyOut ? '' : sentenceOf(error));
    }
    if (token) return this.#consider(token, found);
    this.#welcome(found);
  }

  // The page of the present session closes first: its reads would be refused between the two sessions.
  async accept(offer: Offer): Promise<void> {
    this.current = null;
    this.offer = null;
    this.phase = 'starting';
    abortSessionRequests();
    try {
      await signOut();
    } catch {
      // The session ends by itself, and this browser forgets it when it signs in.
    }
    await this.enter(offer.token);
  }

  decline(): void {
    this.offer = null;
  }

  async enter(token: string): Promise<void> {
    this.error = '';
    try {
      this.#welcome(await signIn(token));
    } catch (error) {
      const wrong = error instanceof ApiError && error.signedOut;
      this.#leave(wrong ? kInvalid : sentenceOf(error));
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

  // Called after a 401 of this session. A late answer can come after the person has signed out, or in as somebody else; then
  // there is nothing to report.
  expired(session: Session): void {
    if (this.current !== session) return;
    this.#leave('Your session has ended. Sign in again to go on.');
  }

  async #consider(token: string, found: Session): Promise<void> {
    let offer: Offer | null = null;
    let trouble = '';
    try {
      const link = await ownerOf(token);
      if (link.role !== 'admin' && link.role !== 'sender') throw new ApiError(403, 'not_allowed', 'It has the token of an agent.');
      if (isSamePerson(found, link)) {
        // A page that is in use is not drawn again: an upload may be running.
        if (this.current && isSamePerson(this.current, link)) return;
        return await this.enter(token);
      }
      const present = sentenceOfSession(found, await agentOf(found));
      offer = { token, present, link: sentenceOfLink(link, await agentOf(link, token), found) };
    } catch (error) {
      const wrong = error instanceof ApiError && error.signedOut;
      trouble = `The link was not used. ${wrong ? kInvalid : sentenceOf(error)}`;
    }
    this.offer = offer;
    if (!this.current || !isSamePerson(this.current, found)) this.#welcome(found);
    this.error = trouble;
  }

  #welcome(session: Session): void {
    this.current = session;
    this.error = '';
    this.phase = 'in';
  }

  #leave(error: string): void {
    this.current = null;
    this.offer = null;
    this.error = error;
    this.phase = 'out';
  }
}

// The name of the agent whose chat the session, or the token, may use; empty: not known, or all of them.
async function agentOf(session: Session, token?: string): Promise<string> {
  if (!session.workspace_id) return '';
  try {
    return (await findWorkspace(session.workspace_id, token === undefined ? {} : { token })).name;
  } catch {
    return '';
  }
}

export const session = new SessionState();
