import type { FileProgress } from './file_progress';

// A life as three stops on a road: staged, fetched, and the end. Only an ack makes the end a delivery.

export interface Stop {
  word: string;
  at: string | null;
  // done: behind it; next: where it is going; later: after that; skipped: passed without being seen there;
  // ended: it will go no further (or, failed, may be tried again).
  mark: 'done' | 'next' | 'later' | 'skipped' | 'ended';
}

const kEnds = { failed: 'Failed', expired: 'Expired', recalled: 'Recalled' } as const;

export function stopsOf(life: FileProgress): [Stop, Stop, Stop] {
  const staged: Stop = { word: 'Staged', at: life.stagedAt, mark: 'done' };
  const over = life.stage === 'acked' || life.stage === 'failed' || life.stage === 'expired' || life.stage === 'recalled';
  const fetched: Stop = {
    word: 'Fetched',
    at: life.fetchedAt,
    mark: life.fetchedAt || life.stage === 'fetched' ? 'done' : over ? 'skipped' : 'next',
  };
  return [staged, fetched, endOf(life)];
}

function endOf(life: FileProgress): Stop {
  switch (life.stage) {
    case 'failed':
    case 'expired':
    case 'recalled':
      return { word: kEnds[life.stage], at: life.endedAt, mark: 'ended' };
    case 'acked':
      return { word: 'Acked', at: life.ackedAt, mark: 'done' };
    default:
      return { word: 'Acked', at: null, mark: life.stage === 'fetched' ? 'next' : 'later' };
  }
}

// One or two words for where the file is. "Delivered" is said after the ack and never before.
export function stateSentenceOf(life: FileProgress): string {
  switch (life.stage) {
    case 'staged':
      return 'Waiting';
    case 'fetched':
      return 'Picked up';
    case 'acked':
      return 'Delivered';
    case 'failed':
    case 'expired':
    case 'recalled':
      return kEnds[life.stage];
    default:
      return '';
  }
}
