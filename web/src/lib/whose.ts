import type { Session } from './wire';

// Whose a session or a link is, as sentences for the person who is asked whether to sign in with a link.

export const isSamePerson = (one: Session, other: Session): boolean =>
  one.role === other.role &&
  (one.workspace_id ?? '').toLowerCase() === (other.workspace_id ?? '').toLowerCase() &&
  (one.token_id ?? '') === (other.token_id ?? '');

// `agent` is the name of the workspace whose chat it is; empty: not known.
const chat = (agent: string): string => (agent ? `the chat with ${agent}` : 'one chat');

export const sentenceOfSession = (session: Session, agent: string): string =>
  session.role === 'admin' ? 'You are signed in as the operator.' : `You are signed in to ${chat(agent)}.`;

export function sentenceOfLink(link: Session, agent: string, session: Session): string {
  if (link.role === 'admin') return 'This link signs you in as the operator of this server.';
  const same = session.role === link.role && session.workspace_id === link.workspace_id;
  if (same) return 'This link signs you in to the same chat, as somebody else.';
  return `This link signs you in to ${chat(agent)}, as the person it was made for, and to nothing else.`;
}
