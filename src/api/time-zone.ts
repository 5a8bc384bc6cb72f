/** Places and their clocks, by the names of the IANA: how far a clock there is from UTC, and when that changes. */

/** Whether a name is one of the time zones of the IANA. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** A time during which clocks in a zone are as far from UTC at its end as they are at its beginning. */
export interface ZonePeriod {
  /** What is to be added to UTC. */
  readonly offsetMs: number
  /** The first moment of it. */
  readonly fromMs: number
  /** The first moment after it. */
  readonly untilMs: number
}

/** The period in which a moment lies. */
export function zonePeriodAt(timeZone: string, atMs: number): ZonePeriod {
  const zoned = zonedAt(timeZone, atMs)
  const next = zoned.getTimeZoneTransition('next')
  const first = zonedAt(timeZone, atMs + 1).getTimeZoneTransition('previous')
  return {
    offsetMs: zoned.offsetNanoseconds / 1e6,
    fromMs: first?.epochMilliseconds ?? -Infinity,
    untilMs: next?.epochMilliseconds ?? Infinity,
  }
}

/** A moment as a clock in the zone shows it: `2026-03-29T03:30:00+02:00`. */
export function formatTimeIn(timeZone: string, atMs: number): string {
  const zoned = zonedAt(timeZone, atMs)
  const options = { smallestUnit: 'second', timeZoneName: 'never', calendarName: 'never' } as const
  return zoned.toString(options).replace(/\+00:00$/, 'Z')
}

function zonedAt(timeZone: string, atMs: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(atMs)).toZonedDateTimeISO(timeZone)
}
