// Hops: stops two agents that answer each other automatically. The metadata of a message contains how many automatic
// answers led to it; after eight there is no further one. The software of some peers does not send that number. For them
// the state counts: at most eight answers to messages that they wrote within an hour, also after a restart. Pure functions.

/** An automatic answer to an agent whose message had no number of hops. */
export interface AutomaticAnswer {
  peer: string;
  /** Of the message, by the server's clock. */
  createdAt: string;
}

export const MOST_HOPS = 8;
const WINDOW = 3_600_000;
const MOST_REMEMBERED = 4096; // eight for each of some hundred peers

// A message without a readable time counts as recent.
function isRecent(answer: AutomaticAnswer, now: number): boolean {
  const age = now - Date.parse(answer.createdAt);
  return Number.isNaN(age) || age < WINDOW;
}

/** The number of hops for the answer to a message with `hops`; undefined when there must be no answer. */
export function nextHop(answered: AutomaticAnswer[], peer: string, hops: number, createdAt: string): number | undefined {
  if (hops >= MOST_HOPS) return undefined;
  if (hops > 0) return hops + 1;
  const now = Date.parse(createdAt);
  const recent = answered.filter((answer) => answer.peer === peer && isRecent(answer, now)).length;
  return recent >= MOST_HOPS ? undefined : 1;
}

/** The list with the answer added, and without those that no longer count. */
export function remember(answered: AutomaticAnswer[], answer: AutomaticAnswer): AutomaticAnswer[] {
  const now = Date.parse(answer.createdAt);
  return [...answered.filter((old) => isRecent(old, now)), answer].slice(-MOST_REMEMBERED);
}
