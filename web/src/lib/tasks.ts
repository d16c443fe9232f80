import { exactTime } from './format';
import type { TaskRow, TaskStatus } from './operator';

// Texts about tasks between agents.

export const kColumns: { status: TaskStatus; title: string; none: string }[] = [
  { status: 'queued', title: 'Queued', none: 'Nothing waits to be picked up.' },
  { status: 'dispatched', title: 'Picked up', none: 'No agent has a task that it has not begun.' },
  { status: 'in_progress', title: 'In progress', none: 'No agent works on a task.' },
  { status: 'stuck', title: 'Stuck', none: 'None is stuck.' },
  { status: 'failed', title: 'Failed', none: 'None has failed.' },
  { status: 'completed', title: 'Completed', none: 'None has been completed.' },
];

export const titleOf = (status: TaskStatus): string => kColumns.find((one) => one.status === status)?.title ?? status;
export const isOver = (status: TaskStatus): boolean => status === 'completed' || status === 'failed' || status === 'stuck';
export const toneOf = (status: TaskStatus): 'good' | 'warn' | 'bad' | '' =>
  status === 'completed' ? 'good' : status === 'stuck' || status === 'failed' ? 'bad' : status === 'queued' ? 'warn' : '';

// The first line, for a heading.
export const headline = (text: string): string => text.split('\n').find((line) => line.trim() !== '')?.trim() ?? 'A task without text';

// The server's sentence with its times in this browser's time zone.
export function plainly(sentence: string, now: Date): string {
  return sentence.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (instant) => exactTime(instant, now));
}

// The agent's last progress text, unless `why` contains it already.
export const extraProgress = (task: TaskRow): string => (task.progress && !task.why?.includes(task.progress) ? task.progress : '');

// The three times of a task, the most important last: the agent's last sign of life, the task's last heartbeat, its
// last progress.
export function clocksOf(task: TaskRow): { word: string; at: string | null; none: string }[] {
  return [
    { word: 'Agent seen', at: task.agent_seen_at ?? null, none: 'never' },
    { word: 'Task heartbeat', at: task.last_heartbeat ?? null, none: 'none yet' },
    { word: 'Progress', at: task.progress_at ?? null, none: 'none reported' },
  ];
}

// Whether a task that has not ended is in the last fifth of its time.
export function isPressing(task: TaskRow, now: Date): boolean {
  if (isOver(task.status)) return false;
  const deadline = new Date(task.deadline).getTime();
  const left = deadline - now.getTime();
  return left < (deadline - new Date(task.created_at).getTime()) / 5;
}
