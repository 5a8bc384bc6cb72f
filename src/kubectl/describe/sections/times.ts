import { formatTimeIn } from '#/api/text/time-zone.ts'
import { humanDuration } from '#/api/text/duration.ts'
import { parseTime } from '#/api/text/time.ts'
import type { DescribeOptions } from '../describer.ts'

/** In the format of RFC 1123 with a numeric zone: `Mon, 02 Jan 2006 15:04:05 +0000`. */
export function localTime(time: string | undefined, { timeZone }: Pick<DescribeOptions, 'timeZone'>): string {
  const atMs = momentOf(time)
  if (atMs === undefined) return 'Mon, 01 Jan 0001 00:00:00 +0000'
  const { year, month, day, clock, offset, weekday } = partsOf(atMs, timeZone)
  return `${weekday}, ${day} ${months[Number(month) - 1]} ${year} ${clock} ${offset}`
}

/** In Go's default format: `2006-01-02 15:04:05 +0000 UTC`. */
export function goTime(time: string | undefined, { timeZone }: Pick<DescribeOptions, 'timeZone'>): string {
  const atMs = momentOf(time)
  if (atMs === undefined) return '0001-01-01 00:00:00 +0000 UTC'
  const { year, month, day, clock, offset } = partsOf(atMs, timeZone)
  return `${year}-${month}-${day} ${clock} ${offset} ${zoneNameAt(atMs, timeZone)}`
}

/** The time since then: `3h12m`. */
export function timeSince(time: string | undefined, { nowMs }: Pick<DescribeOptions, 'nowMs'>): string {
  const atMs = momentOf(time)
  return atMs === undefined ? '<unknown>' : humanDuration(nowMs - atMs)
}

/** Absent times of other objects than the described one may be null. */
export function momentOf(time: string | null | undefined): number | undefined {
  return time ? parseTime(time) : undefined
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

interface LocalParts {
  readonly year: string
  readonly month: string
  readonly day: string
  readonly clock: string
  /** `+0100`. */
  readonly offset: string
  readonly weekday: string
}

function partsOf(atMs: number, timeZone: string): LocalParts {
  const text = formatTimeIn(timeZone, atMs)
  const [year = '', month = '', day = ''] = text.slice(0, 10).split('-')
  const offset = text.endsWith('Z') ? '+0000' : text.slice(19).replace(':', '')
  const weekday = weekdays[new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDay()] ?? ''
  return { year, month, day, clock: text.slice(11, 19), offset, weekday }
}

/** `CET`; where no locale has an abbreviation, as for many zones, `GMT+3`. */
function zoneNameAt(atMs: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'short' })
  return format.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
}
