import type { FileProgress } from './file_progress';

// A file's progress as three steps: staged, fetched, and the end. Only an ack is a delivery.

export interface ProgressStep {
  word: string;
  at: string | null;
  // done: reached; next: comes next; later: comes after that; skipped: not reported, but a later step was reached;
  // ended: no further step comes (after a failure the agent may try again).
  mark: 'done' | 'next' | 'later' | 'skipped' | 'ended';
}

const kEnds = { failed: 'Failed', expired: 'Expired', recalled: 'Recalled' } as const;

export function stepsOf(fileProgress: FileProgress): [ProgressStep, ProgressStep, ProgressStep] {
  const staged: ProgressStep = { word: 'Staged', at: fileProgress.stagedAt, mark: 'done' };
  const over = fileProgress.stage === 'acked' || fileProgress.stage === 'failed' || fileProgress.stage === 'expired' || fileProgress.stage === 'recalled';
  const fetched: ProgressStep = {
    word: 'Fetched',
    at: fileProgress.fetchedAt,
    mark: fileProgress.fetchedAt || fileProgress.stage === 'fetched' ? 'done' : over ? 'skipped' : 'next',
  };
  return [staged, fetched, endOf(fileProgress)];
}

function endOf(fileProgress: FileProgress): ProgressStep {
  switch (fileProgress.stage) {
    case 'failed':
    case 'expired':
    case 'recalled':
      return { word: kEnds[fileProgress.stage], at: fileProgress.endedAt, mark: 'ended' };
    case 'acked':
      return { word: 'Acked', at: fileProgress.ackedAt, mark: 'done' };
    default:
      return { word: 'Acked', at: null, mark: fileProgress.stage === 'fetched' ? 'next' : 'later' };
  }
}

// One or two words for the file's state. It is "Delivered" after the ack and never before.
export function stateSentenceOf(fileProgress: FileProgress): string {
  switch (fileProgress.stage) {
    case 'staged':
      return 'Waiting';
    case 'fetched':
      return 'Picked up';
    case 'acked':
      return 'Delivered';
    case 'failed':
    case 'expired':
    case 'recalled':
      return kEnds[fileProgress.stage];
    default:
      return '';
  }
}
