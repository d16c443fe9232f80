import type { Workspace } from './wire';

export interface Presence {
  word: string;
  tone: 'here' | 'troubled' | 'away';
}

export function presenceOf(workspace: Workspace): Presence {
  switch (workspace.status) {
    case 'online':
      return { word: isNotListening(workspace) ? 'Online · not listening' : 'Online', tone: 'here' };
    case 'degraded':
      return { word: 'Having trouble', tone: 'troubled' };
    case 'awaiting_agent':
      return { word: 'Not connected yet', tone: 'away' };
    case 'removed':
      return { word: 'Removed', tone: 'away' };
    default:
      return { word: 'Offline', tone: 'away' };
  }
}

// It was seen a moment ago and holds no poll: it is busy, or was stopped.
const isNotListening = ({ delivery_mode: mode, listening }: Workspace): boolean => mode === 'poll' && listening === false;

// A heartbeat and a poll are both signs of life; RFC 3339 in UTC sorts as text.
export function lastSeen(workspace: Workspace): string | null {
  const signs = [workspace.last_heartbeat_at, workspace.last_poll_at].filter((sign) => typeof sign === 'string');
  return signs.sort().at(-1) ?? null;
}

// Whether it was seen after `before`, which is null for an agent that was never seen.
export function seenAfter(workspace: Workspace, before: string | null): boolean {
  return before === null || (lastSeen(workspace) ?? '') > before;
}
