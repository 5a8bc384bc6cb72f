import { LruMap } from '#/base/lru-map.ts'
import { Fault } from '../fault.ts'

/** Maximum number of cached time zones. */
const keptZonesMax = 64
/** Longer names do not exist. */
const zoneCharactersMax = 64
/** Free in Kubernetes; here applying a time zone takes as long as several steps. */
export const zoneCost = 20

const kept = new LruMap<string, Intl.DateTimeFormat>(keptZonesMax)

/** A date with UTC parts equal to the local time in the zone: `Europe/Berlin`, `UTC`, `+01:00`, `-02:30`. */
export function inZone(date: Date, zone: string): Date {
  if (zone === '' || zone === 'UTC') return date
  if (zone.length > zoneCharactersMax) throw unknownZone(zone)
  if (zone.includes(':')) return new Date(date.getTime() + offsetMinutes(zone) * 60_000)
  const read: Record<string, number> = {}
  for (const { type, value } of formatOf(zone).formatToParts(date)) read[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = read
  const shown = new Date(0)
  shown.setUTCFullYear(year, month - 1, day)
  shown.setUTCHours(hour, minute, second, date.getUTCMilliseconds())
  return shown
}

function offsetMinutes(zone: string): number {
  const match = /^([+-]?)([0-9]{1,2}):([0-9]{1,2})$/.exec(zone)
  if (match === null) throw new Fault(`invalid timezone offset: ${zone}`)
  const [, sign, hours, minutes] = match
  if (Number(minutes) > 59) throw new Fault(`timezone offset minutes out of range [0, 59]: ${zone}`)
  return (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1)
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = kept.get(zone)
  if (known !== undefined) return known
  try {
    const numeric = 'numeric'
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'iso8601',
      hourCycle: 'h23',
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
      second: numeric,
    })
    kept.set(zone, format)
    return format
  } catch (error) {
    if (error instanceof RangeError) throw unknownZone(zone)
    throw error
  }
}

function unknownZone(zone: string): Fault {
  return new Fault(`unknown time zone ${zone.slice(0, zoneCharactersMax)}`)
}
