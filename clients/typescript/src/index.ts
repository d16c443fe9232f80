// The agent of a Restante workspace as a library for Node. See README.md for what it promises.
export { Agent, AgentEnded } from "./agent.js";
export type { ConnectOptions, DelegateOptions, GivenTask, SendOptions } from "./agent.js";
export type { Answer, Message, Result, Task } from "./handlers.js";
export type { DeliveredFile } from "./delivery.js";
export type { End } from "./session.js";
export { DiskError } from "./disk.js";
export { Failure } from "./failure.js";
export type { FailureKind } from "./failure.js";
export { NoState } from "./states.js";
export { InUse } from "./state_directory.js";
