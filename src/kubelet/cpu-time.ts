/**
 * Converts millicores to kernel CPU settings. Shares are relative weights under contention; a quota per
 * period is a hard limit.
 */

/** Range accepted by the kernel. */
const sharesMin = 2
const sharesMax = 262_144
const sharesPerProcessor = 1024

/** Microseconds. */
export const cpuPeriod = 100_000
const quotaMin = 1_000

/** A request of 0 gets the minimum. */
export function cpuShares(milli: number): number {
  return Math.min(Math.max(Math.floor((milli * sharesPerProcessor) / 1_000), sharesMin), sharesMax)
}

/** 0 means no limit. */
export function cpuQuota(milli: number): number {
  return milli === 0 ? 0 : Math.max(Math.floor((milli * cpuPeriod) / 1_000), quotaMin)
}

/** cgroup v2 weight, 1 to 10000, proportional to shares. */
export function cpuWeight(shares: number): number {
  return Math.min(1 + Math.floor(((shares - sharesMin) * 9_999) / (sharesMax - sharesMin)), 10_000)
}
