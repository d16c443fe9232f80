import type { Component } from 'svelte';
import type { Workspaces } from './workspaces.svelte';

// The operator's views beside the chats, in the order of the navigation. The address of each is `#/<name>` (of the first
// also `#/`). A view is loaded when it is first opened, so a sender never downloads it.

export interface ViewProps {
  workspaces: Workspaces;
  // What follows the name in the address: `#/delegations/<rest>`. Empty when nothing does.
  rest: string;
  // To be called when the server answers that the session has ended (ApiError.signedOut).
  onSignedOut: () => void;
}

export interface View {
  name: string;
  title: string;
  // Path data in a 24 by 24 box, stroked.
  icon: string;
  load: () => Promise<{ default: Component<ViewProps> }>;
}

export const views: View[] = [
  {
    name: 'workspaces',
    title: 'Workspaces',
    icon: 'M4 6h16v12H4zM4 7l8 6 8-6',
    load: () => import('../views/WorkspacesBoard.svelte'),
  },
  {
    name: 'uploads',
    title: 'Uploads',
    icon: 'M12 16V5M8 9l4-4 4 4M4 14v5h16v-5',
    load: () => import('../views/UploadsBoard.svelte'),
  },
  {
    name: 'delegations',
    title: 'Tasks',
    icon: 'M6 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM18 20a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM6 8v4a4 4 0 0 0 4 4h6M13 13l3 3-3 3',
    load: () => import('../views/DelegationsBoard.svelte'),
  },
  {
    name: 'dashboard',
    title: 'Dashboard',
    icon: 'M4 4v16h16M8 15l3-4 3 2 5-7',
    load: () => import('../views/Dashboard.svelte'),
  },
  {
    name: 'health',
    title: 'Health',
    icon: 'M3 12h4l2-6 4 12 3-8 2 2h3',
    load: () => import('../views/Health.svelte'),
  },
];

export const linkTo = (view: View, rest = ''): string =>
  view === views[0] && rest === '' ? '#/' : `#/${view.name}${rest === '' ? '' : `/${encodeURIComponent(rest)}`}`;
