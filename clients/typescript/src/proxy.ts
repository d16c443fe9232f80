// Proxies from the environment: https_proxy, http_proxy, all_proxy and no_proxy, the lower-case name before the upper-case
// one. A password is part of the address. Loopback addresses never use a proxy. HTTP_PROXY in capitals is ignored under
// CGI, where a client could set it.
import * as http from "node:http";
import * as https from "node:https";
import * as net from "node:net";
import * as tls from "node:tls";
import type { Duplex } from "node:stream";
import { Failure } from "./failure.js";

export type Environment = Record<string, string | undefined>;

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\./.test(host);
}

function isExcepted(host: string, list: string): boolean {
  return list
    .split(",")
    .map((entry) => entry.trim().toLowerCase().replace(/:\d+$/, ""))
    .filter((entry) => entry !== "")
    .some((entry) => entry === "*" || host === entry || host.endsWith("." + entry.replace(/^\./, "")));
}

/** The proxy for this server; undefined: a direct connection. Throws a Failure when its address is not valid. */
export function proxyFor(server: URL, environment: Environment): URL | undefined {
  const host = server.hostname.toLowerCase();
  if (isLoopback(host) || isExcepted(host, environment["no_proxy"] ?? environment["NO_PROXY"] ?? "")) return undefined;
  const plain = [environment["http_proxy"], environment["REQUEST_METHOD"] ? undefined : environment["HTTP_PROXY"]];
  const own = server.protocol === "https:" ? [environment["https_proxy"], environment["HTTPS_PROXY"]] : plain;
  const address = [...own, environment["all_proxy"], environment["ALL_PROXY"]].find((value) => value);
  if (!address) return undefined;
  try {
    const proxy = new URL(address.includes("://") ? address : "http://" + address);
    if (proxy.protocol === "http:") return proxy;
  } catch {
    // the sentence below says it
  }
  throw new Failure("bad_url", "the address of the proxy in the environment is not an http:// address");
}

export function proxyAuthorization(proxy: URL): Record<string, string> {
  if (!proxy.username) return {};
  const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { "Proxy-Authorization": "Basic " + Buffer.from(pair).toString("base64") };
}

/** Why a proxy does not pass a request on. */
export function refusalOf(proxy: URL, status: number): Failure {
  if (status !== 407) return new Failure("unreachable", `the proxy ${proxy.host} refuses the connection (${status})`);
  const what = proxy.username ? "does not take this user name and password" : "wants a user name and a password";
  const how = `they are given in its address, as http://name:password@${proxy.host}`;
  return new Failure("unreachable", `the proxy http://${proxy.host} ${what}; ${how}`);
}

type Created = (error: Error | null, socket?: Duplex) => void;

/** Connections to an https server through a tunnel of the proxy. */
export class TunnelAgent extends https.Agent {
  readonly #proxy: URL;

  constructor(proxy: URL, options: https.AgentOptions) {
    super(options);
    this.#proxy = proxy;
  }

  // Returns no socket: it comes by the callback.
  override createConnection(asking: https.RequestOptions, callback?: (error: Error | null, socket: Duplex) => void): null {
    const options = asking as tls.ConnectionOptions & { host: string; port: number };
    const created = callback as Created;
    const target = `${options.host}:${options.port}`;
    const asked = http.request({
      host: this.#proxy.hostname,
      port: this.#proxy.port || 80,
      method: "CONNECT",
      path: target,
      headers: { Host: target, ...proxyAuthorization(this.#proxy) },
    });
    asked.once("error", created);
    asked.once("connect", (answer, socket) => {
      if (answer.statusCode !== 200) {
        socket.destroy();
        created(refusalOf(this.#proxy, answer.statusCode ?? 0));
        return;
      }
      const name = options.servername ?? (net.isIP(options.host) ? "" : options.host);
      created(null, tls.connect({ ...options, socket, servername: name }));
    });
    asked.end();
    return null;
  }
}
