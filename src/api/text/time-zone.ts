/** IANA time zones: UTC offsets and their transitions. */

/** True for the name of an IANA time zone. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** A period of a zone with a constant UTC offset. */
export interface ZonePeriod {
  /** Offset from UTC. */
  readonly offsetMs: number
  /** Start, inclusive. */
  readonly fromMs: number
  /** End, exclusive. */
  readonly untilMs: number
}

/** The period that contains an instant. */
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

/** An instant in local time of the zone: `2026-03-29T03:30:00+02:00`. */
export function formatTimeIn(timeZone: string, atMs: number): string {
  const zoned = zonedAt(timeZone, atMs)
  const options = { smallestUnit: 'second', timeZoneName: 'never', calendarName: 'never' } as const
  return zoned.toString(options).replace(/\+00:00$/, 'Z')
}

function zonedAt(timeZone: string, atMs: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(atMs)).toZonedDateTimeISO(timeZone)
}
