// The current view, kept in the address's fragment so that the server has one path only:
// `#/<view>` one of the views, with `/<rest>` if the view takes one, `#/` the first of them, `#/chat/<id>` one
// conversation. `#token=…&workspace=…` is a link that signs in, or asks whether to; it is removed from the address (and so
// from the history) before anything else happens.

export type Route = { view: 'chat'; workspace: string } | { view: 'board'; name: string; rest: string };

class RouteState {
  current = $state.raw<Route>(parse(location.hash));
}

export const route = new RouteState();

// The token in the address, once; null when there is none.
export function takeToken(): string | null {
  const link = new URLSearchParams(location.hash.slice(1));
  const token = link.get('token');
  if (token === null) return null;
  const workspace = link.get('workspace');
  history.replaceState(null, '', location.pathname + location.search + (workspace ? chatLink(workspace) : ''));
  route.current = parse(location.hash);
  return token;
}

export const chatLink = (workspace: string): string => `#/chat/${encodeURIComponent(workspace)}`;

export function go(link: string): void {
  location.hash = link;
}

export function followAddress(onToken: () => void): () => void {
  const changed = () => {
    if (new URLSearchParams(location.hash.slice(1)).has('token')) onToken();
    else route.current = parse(location.hash);
  };
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
}

function parse(hash: string): Route {
  const chat = /^#\/chat\/([0-9a-f-]{36})$/i.exec(hash);
  if (chat?.[1]) return { view: 'chat', workspace: chat[1].toLowerCase() };
  const [, name = '', rest = ''] = /^#\/([a-z-]+)(?:\/([^/]*))?$/.exec(hash) ?? [];
  return { view: 'board', name, rest: decoded(rest) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
