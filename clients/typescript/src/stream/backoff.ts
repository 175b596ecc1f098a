/** How long to wait before the next attempt. */

const FIRST = 200;
const LONGEST = 10_000;

/**
 * The pause before attempt `attempt` (from 1), in milliseconds: doubling, up to a limit, spread over its upper half by
 * `random` in [0, 1), so that followers that were cut together do not come back together. A server's own wish is a
 * lower bound.
 */
export function delay(attempt: number, wish: number | undefined, random: number): number {
  const doubled = Math.min(FIRST * 2 ** Math.min(attempt - 1, 10), LONGEST);
  const half = doubled / 2;
  return Math.max(half + half * random, wish ?? 0);
}
