/** Accessors of timestamps and durations. */
import { method, type Overload } from '../function.ts'
import { durationType, intType, stringType, timestampType } from '../type.ts'
import type { Duration, Timestamp } from '../value.ts'
import { inZone, zoneCost } from './time-zone.ts'

type Part = (date: Date) => number

const dayMs = 86_400_000

/** Computed from the UTC parts of the date in the zone. */
const parts: readonly (readonly [string, Part])[] = [
  ['getFullYear', date => date.getUTCFullYear()],
  ['getMonth', date => date.getUTCMonth()],
  ['getDayOfYear', dayOfYear],
  ['getDayOfMonth', date => date.getUTCDate() - 1],
  ['getDate', date => date.getUTCDate()],
  ['getDayOfWeek', date => date.getUTCDay()],
  ['getHours', date => date.getUTCHours()],
  ['getMinutes', date => date.getUTCMinutes()],
  ['getSeconds', date => date.getUTCSeconds()],
  ['getMilliseconds', date => date.getUTCMilliseconds()],
]

const units: readonly (readonly [string, bigint])[] = [
  ['getHours', 3_600_000_000_000n],
  ['getMinutes', 60_000_000_000n],
  ['getSeconds', 1_000_000_000n],
  ['getMilliseconds', 1_000_000n],
]

export const times: readonly Overload[] = [
  ...parts.flatMap(([name, part]) => [
    method(name, [timestampType], intType, (moment: Timestamp) => BigInt(part(dateOf(moment)))),
    method(name, [timestampType, stringType], intType, (moment, zone) => inPart(part, moment, zone), {
      cost: () => zoneCost,
    }),
  ]),
  ...units.map(([name, unit]) =>
    method(name, [durationType], intType, ({ nanoseconds }: Duration) => nanoseconds / unit),
  ),
]

function inPart(part: Part, moment: Timestamp, zone: string): bigint {
  return BigInt(part(inZone(dateOf(moment), zone)))
}

function dateOf({ nanoseconds }: Timestamp): Date {
  const milliseconds = nanoseconds / 1_000_000n
  const isRoundedUp = nanoseconds < 0n && milliseconds * 1_000_000n !== nanoseconds
  return new Date(Number(milliseconds) - (isRoundedUp ? 1 : 0))
}

function dayOfYear(date: Date): number {
  const newYear = new Date(date)
  newYear.setUTCMonth(0, 1)
  return Math.round((date.getTime() - newYear.getTime()) / dayMs)
}
