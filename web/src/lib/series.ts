import type { SeriesAnswer } from './operator';

// The server's figures as a chart needs them: rows joined from several answers, collected into stretches that are wide enough
// to be seen, a scale with round numbers. Null means unknown and stays unknown: a gap is never a zero.

export interface Figures {
  // Milliseconds since 1970, ascending. The last row is not complete yet.
  time: number[];
  columns: Record<string, (number | null)[]>;
  periodMs: number;
  kept: number;
}

// The value of a stretch: the sum of its rows, the largest, or the newest.
export type Gather = 'sum' | 'max' | 'last';

// `known` with the rows that came after it; the whole answer when the two do not fit together.
export function join(known: Figures | null, answer: SeriesAnswer): Figures {
  const names = Object.keys(answer.columns);
  const before = known && fits(known, answer) ? known.time.length - 1 : 0;
  const length = before + answer.time.length;
  const drop = Math.max(0, length - answer.kept);
  const time = [...(known?.time.slice(0, before) ?? []), ...answer.time].slice(drop);
  const columns: Figures['columns'] = {};
  for (const name of names) {
    const old = known?.columns[name]?.slice(0, before) ?? [];
    columns[name] = [...old, ...(answer.columns[name] ?? [])].slice(drop);
    columns[name].push(answer.running[name] ?? null);
  }
  time.push(Math.max(answer.now, (time.at(-1) ?? 0) + 1));
  return { time, columns, periodMs: answer.period_seconds * 1000, kept: answer.kept };
}

// The time of the newest complete row, to ask for the rows after it.
export function newest(known: Figures | null): number | undefined {
  return known && known.time.length > 1 ? known.time[known.time.length - 2] : undefined;
}

function fits(known: Figures, answer: SeriesAnswer): boolean {
  const last = newest(known);
  if (last === undefined) return true;
  const next = answer.time[0];
  return last <= answer.now && (next === undefined || next > last);
}

export interface Stretches {
  // Where each ends.
  time: number[];
  values: (number | null)[][];
}

// The last `spanMs`, in stretches of `stepMs` that begin at round times; one without a row is unknown.
export function gather(
  figures: Figures,
  names: readonly string[],
  how: Gather,
  spanMs: number,
  stepMs: number,
  now: number,
): Stretches {
  const last = Math.ceil(now / stepMs) * stepMs;
  const count = Math.max(1, Math.round(spanMs / stepMs));
  const first = last - count * stepMs;
  const time = Array.from({ length: count }, (_, i) => first + (i + 1) * stepMs);
  const values = names.map(() => new Array<number | null>(count).fill(null));
  figures.time.forEach((at, row) => {
    // A row is about the time before it, so a row at the end of a stretch belongs to that stretch.
    const stretch = Math.ceil((at - first) / stepMs) - 1;
    if (stretch < 0 || stretch >= count) return;
    names.forEach((name, n) => {
      const value = figures.columns[name]?.[row] ?? null;
      const column = values[n] as (number | null)[];
      if (value === null) return;
      const held = column[stretch] ?? null;
      column[stretch] = held === null || how === 'last' ? value : how === 'sum' ? held + value : Math.max(held, value);
    });
  });
  return { time, values };
}

// Runs of known values, for lines that are broken where nothing is known: [from, to] by index, both included.
export function runs(values: readonly (number | null)[]): [number, number][] {
  const found: [number, number][] = [];
  let from = -1;
  for (let i = 0; i <= values.length; i += 1) {
    const known = i < values.length && values[i] !== null;
    if (known && from < 0) from = i;
    if (!known && from >= 0) {
      found.push([from, i - 1]);
      from = -1;
    }
  }
  return found;
}

export function lastKnown(values: readonly (number | null)[]): number | null {
  for (let i = values.length - 1; i >= 0; i -= 1) {
    const value = values[i];
    if (value !== null && value !== undefined) return value;
  }
  return null;
}

export interface Scale {
  top: number;
  bottom: number;
  ticks: number[];
  // 0 at the bottom, 1 at the top.
  at(value: number): number;
}

// From 0 to a round number that holds them all; `whole` keeps the ticks whole, `base` is 1024 for bytes.
export function linearScale(most: number, whole: boolean, base: 1000 | 1024 = 1000): Scale {
  const unit = base === 1024 && most > 0 ? 1024 ** Math.floor(Math.log(most) / Math.log(1024)) : 1;
  // There is no part of a byte.
  const integral = whole || (base === 1024 && unit === 1);
  const wanted = Math.max(most / unit, integral ? 1 : 1e-9) / 4;
  const magnitude = 10 ** Math.floor(Math.log10(wanted));
  let step = ([1, 2, 2.5, 5, 10].find((m) => m * magnitude >= wanted - 1e-12) ?? 10) * magnitude;
  if (integral) step = Math.max(1, Math.ceil(step));
  const count = Math.max(1, Math.ceil(most / unit / step - 1e-9));
  const top = count * step * unit;
  return {
    top,
    bottom: 0,
    ticks: Array.from({ length: count + 1 }, (_, i) => i * step * unit),
    at: (value) => value / top,
  };
}

const kDurations = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 21_600, 86_400, 604_800];

// For times from milliseconds to days: equal steps up are equal factors.
export function durationScale(least: number, most: number): Scale {
  const low = Math.max(...kDurations.filter((tick) => tick <= Math.max(least, 0.001)));
  const after = kDurations.find((tick) => tick >= most && tick > low) ?? 604_800;
  const ticks = kDurations.filter((tick) => tick >= low && tick <= after);
  const from = Math.log(low);
  const span = Math.log(after) - from;
  return {
    top: after,
    bottom: low,
    ticks,
    at: (value) => Math.min(1, Math.max(0, (Math.log(Math.max(value, low)) - from) / span)),
  };
}

// 0.25 → "250 ms", 90 → "1.5 min".
export function duration(seconds: number): string {
  const round = (value: number) => (value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1).replace(/\.0$/, ''));
  if (seconds < 0.9995) return `${round(Math.max(seconds, 0.0001) * 1000)} ms`;
  if (seconds < 60) return `${round(seconds)} s`;
  if (seconds < 3600) return `${round(seconds / 60)} min`;
  if (seconds < 172_800) return `${round(seconds / 3600)} h`;
  return `${round(seconds / 86_400)} days`;
}
