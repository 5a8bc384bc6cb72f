import { int64Max, int64Min } from '#/api/text/int64.ts'
import { Fault } from '../fault.ts'
import { Duration, Timestamp, Uint } from '../value.ts'

const uint64Max = 2n ** 64n - 1n
const second = 1_000_000_000n
const yearOne = -62_135_596_800n * second
const yearTenThousand = 253_402_300_800n * second

export function toInt(value: bigint): bigint {
  if (value < int64Min || value > int64Max) throw new Fault('integer overflow')
  return value
}

export function toUint(value: bigint): Uint {
  if (value < 0n || value > uint64Max) throw new Fault('unsigned integer overflow')
  return new Uint(value)
}

export function toDuration(nanoseconds: bigint): Duration {
  return new Duration(toInt(nanoseconds))
}

export function toTimestamp(nanoseconds: bigint): Timestamp {
  if (!isTimestamp(nanoseconds)) throw new Fault('timestamp overflow')
  return new Timestamp(nanoseconds)
}

/** True if the timestamp lies in the years 1 to 9999. */
export function isTimestamp(nanoseconds: bigint): boolean {
  return nanoseconds >= yearOne && nanoseconds < yearTenThousand
}
