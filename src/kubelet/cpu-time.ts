/**
 * How processor time is shared out: amounts in thousandths of a processor as the scheduler of the kernel takes them.
 * Shares say who goes first when there is not enough, a quota in each period is the most that anybody gets.
 */

/** What the kernel takes. */
const sharesMin = 2
const sharesMax = 262_144
const sharesPerProcessor = 1024

/** Microseconds. */
export const cpuPeriod = 100_000
const quotaMin = 1_000

/** Whoever asks for nothing gets the least there is. */
export function cpuShares(milli: number): number {
  return Math.min(Math.max(Math.floor((milli * sharesPerProcessor) / 1_000), sharesMin), sharesMax)
}

/** 0 is no limit. */
export function cpuQuota(milli: number): number {
  return milli === 0 ? 0 : Math.max(Math.floor((milli * cpuPeriod) / 1_000), quotaMin)
}

/** What cgroup v2 has in place of shares: 1 to 10000, in proportion. */
export function cpuWeight(shares: number): number {
  return Math.min(1 + Math.floor(((shares - sharesMin) * 9_999) / (sharesMax - sharesMin)), 10_000)
}
