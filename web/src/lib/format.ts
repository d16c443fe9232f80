// Numbers and times as people read them, in the browser's language and time zone.

const kUnits = ['bytes', 'KB', 'MB', 'GB', 'TB'];

export function bytes(count: number): string {
  if (count === 1) return '1 byte';
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < kUnits.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 || Number.isInteger(value) ? 0 : 1;
  return `${value.toFixed(digits)} ${kUnits[unit]}`;
}

const kClock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
// For postmarks and progress lines: 24 hours in every language, so that columns align.
const kClock24 = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const kClock24Seconds = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' });
const kDay = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const kDayYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long', year: 'numeric' });
const kFull = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' });
const kShortDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

export const clock = (iso: string): string => kClock.format(new Date(iso));
export const clock24 = (iso: string): string => kClock24.format(new Date(iso));
export const fullTime = (iso: string): string => kFull.format(new Date(iso));
export const shortDay = (iso: string): string => kShortDay.format(new Date(iso));

// The key under which messages of one local day are gathered.
export function dayKey(iso: string): string {
  const date = new Date(iso);
  return `${date.getFullYear()}-${date.getMonth()}-${date.getDate()}`;
}

// To the second; with the day if that is not today.
export function exactTime(iso: string, now: Date): string {
  const time = kClock24Seconds.format(new Date(iso));
  return dayKey(iso) === dayKey(now.toISOString()) ? time : `${shortDay(iso)}, ${time}`;
}

// To the minute; with the day if that is not today.
export function keptUntil(iso: string, now: Date): string {
  const time = clock24(iso);
  return dayKey(iso) === dayKey(now.toISOString()) ? time : `${shortDay(iso)}, ${time}`;
}

export function dayName(iso: string, now: Date): string {
  const yesterday = new Date(now);
  yesterday.setDate(now.getDate() - 1);
  if (dayKey(iso) === dayKey(now.toISOString())) return 'Today';
  if (dayKey(iso) === dayKey(yesterday.toISOString())) return 'Yesterday';
  const date = new Date(iso);
  return (date.getFullYear() === now.getFullYear() ? kDay : kDayYear).format(date);
}

export function ago(iso: string, now: Date): string {
  const seconds = Math.max(0, Math.round((now.getTime() - new Date(iso).getTime()) / 1000));
  if (seconds < 60) return 'just now';
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ago`;
  return `${Math.floor(hours / 24)} days ago`;
}

// "in 3 h", for when a waiting file will expire; empty once that is past.
export function until(iso: string, now: Date): string {
  const minutes = Math.floor((new Date(iso).getTime() - now.getTime()) / 60_000);
  if (minutes < 0) return '';
  if (minutes < 60) return `in ${Math.max(1, minutes)} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `in ${hours} h` : `in ${Math.round(hours / 24)} days`;
}

// The instant one microsecond later: the server's times have six decimals, more than a Date can hold.
export function nextMicrosecond(iso: string): string {
  const match = /^(.*:\d\d)(?:\.(\d{1,6}))?\d*Z$/.exec(iso);
  if (!match?.[1]) return iso;
  const micros = Number((match[2] ?? '').padEnd(6, '0')) + 1;
  if (micros < 1_000_000) return `${match[1]}.${String(micros).padStart(6, '0')}Z`;
  return new Date(new Date(`${match[1]}Z`).getTime() + 1000).toISOString().replace(/\.\d+Z$/, '.000000Z');
}
