/** The fold: events in, one JSON state out. It reads no clock and does no I/O. */

export { adopt } from "./adopt.js";
export type { Applied, Density, Outcome } from "./apply.js";
export { Folder, apply, applyWith, fold, fromSnapshot } from "./apply.js";
export type { Marker } from "./scanner.js";
export { Scanner } from "./scanner.js";
export * from "./state.js";
export { STATUSES, isTerminal, isWaiting, parseStatus } from "./status.js";
