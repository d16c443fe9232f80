import type { UploadRow } from './operator';

// Waiting files, grouped for a person: by their age, and by their state.

export type WaitingGroup = 'all' | 'never-fetched' | 'fetched' | 'failed' | 'expiring';

const kSoonestMs = 2 * 3_600_000;

// In the last quarter of the file's time, two hours at most: the operator can still do something about it.
export function expiresSoon(row: UploadRow, now: Date): boolean {
  const expires = new Date(row.expires_at).getTime();
  const left = expires - now.getTime();
  return left < Math.min(kSoonestMs, (expires - new Date(row.created_at).getTime()) / 4);
}

export function groupOf(row: UploadRow): Exclude<WaitingGroup, 'all' | 'expiring'> {
  if (row.state === 'failed') return 'failed';
  return row.fetched_at ? 'fetched' : 'never-fetched';
}

export function inGroup(row: UploadRow, group: WaitingGroup, now: Date): boolean {
  if (group === 'all') return true;
  return group === 'expiring' ? expiresSoon(row, now) : groupOf(row) === group;
}

const kAges = [
  { hours: 24, word: 'More than a day' },
  { hours: 6, word: '6 to 24 hours' },
  { hours: 1, word: '1 to 6 hours' },
  { hours: 0, word: 'Less than an hour' },
];

export interface AgeGroup {
  word: string;
  rows: UploadRow[];
}

// Oldest first, groups without a row left out.
export function byAge(rows: readonly UploadRow[], now: Date): AgeGroup[] {
  const groups: AgeGroup[] = kAges.map(({ word }) => ({ word, rows: [] }));
  for (const row of rows) {
    const hours = (now.getTime() - new Date(row.created_at).getTime()) / 3_600_000;
    const at = kAges.findIndex((age) => hours >= age.hours);
    groups[at < 0 ? kAges.length - 1 : at]?.rows.push(row);
  }
  for (const group of groups) group.rows.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
  return groups.filter((group) => group.rows.length > 0);
}
