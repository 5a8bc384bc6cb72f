/**
 * Computes the times of a schedule: every minute in which local time in its time zone matches. A minute
 * skipped by daylight saving time in spring does not occur, and a minute repeated in autumn occurs twice.
 */
import type { CalendarSchedule, CronSchedule, IntervalSchedule } from './cron-schedule.ts'
import { zonePeriodAt } from './time-zone.ts'

export interface ScheduleTimes {
  /** The first schedule time after an instant; undefined if there is none within five years. */
  readonly next: (afterMs: number) => number | undefined
  /**
   * The last schedule time at or before an instant; undefined if there is none within five years.
   */
  readonly previous: (untilMs: number) => number | undefined
}

export interface ScheduleTimesOptions {
  /** Ignored if the schedule has its own time zone. */
  readonly timeZone: string
  /** Start of the intervals of an `@every` schedule. */
  readonly startMs: number
}

export function scheduleTimes(
  schedule: CronSchedule,
  { timeZone, startMs }: ScheduleTimesOptions,
): ScheduleTimes {
  if (schedule.kind === 'interval') return intervalTimes(schedule, startMs)
  return calendarTimes(schedule, schedule.timeZone ?? timeZone)
}

function intervalTimes({ everySeconds }: IntervalSchedule, startMs: number): ScheduleTimes {
  const everyMs = everySeconds * 1_000
  const at = (count: number): number => startMs + count * everyMs
  return {
    next: afterMs => at(Math.max(1, Math.floor((afterMs - startMs) / everyMs) + 1)),
    previous: untilMs => {
      const count = Math.floor((untilMs - startMs) / everyMs)
      return count < 1 ? undefined : at(count)
    },
  }
}

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** Search limit for schedules that never match, such as 31 February. */
const searchMs = 5 * 366 * dayMs

/**
 * The UTC offset is constant within a period of a zone, so each period is searched separately in local time.
 */
function calendarTimes(schedule: CalendarSchedule, timeZone: string): ScheduleTimes {
  const minutes = minutesOfDay(schedule)
  return {
    next: afterMs => {
      const lastMs = afterMs + searchMs
      for (let fromMs = Math.floor(afterMs / minuteMs + 1) * minuteMs; fromMs < lastMs;) {
        const { offsetMs, untilMs } = zonePeriodAt(timeZone, fromMs)
        const endMs = Math.min(untilMs, lastMs)
        const shown = nextShown(schedule, minutes, { fromMs: fromMs + offsetMs, toMs: endMs + offsetMs })
        if (shown !== undefined) return shown - offsetMs
        fromMs = endMs
      }
      return undefined
    },
    previous: untilMs => {
      const firstMs = untilMs - searchMs
      for (let toMs = untilMs; toMs >= firstMs;) {
        const { offsetMs, fromMs } = zonePeriodAt(timeZone, toMs)
        const beginMs = Math.max(fromMs, firstMs)
        const shown = previousShown(schedule, minutes, { fromMs: beginMs + offsetMs, toMs: toMs + offsetMs })
        if (shown !== undefined) return shown - offsetMs
        toMs = beginMs - 1
      }
      return undefined
    },
  }
}

/** Milliseconds since midnight, in ascending order. */
function minutesOfDay({ hours, minutes }: CalendarSchedule): readonly number[] {
  const sorted = [...minutes].sort((a, b) => a - b)
  return [...hours]
    .sort((a, b) => a - b)
    .flatMap(hour => sorted.map(minute => (hour * 60 + minute) * minuteMs))
}

/** Local times are represented as the instant at which a UTC clock shows them. */
interface LocalInterval {
  readonly fromMs: number
  readonly toMs: number
}

function nextShown(
  schedule: CalendarSchedule,
  minutes: readonly number[],
  { fromMs, toMs: endMs }: LocalInterval,
): number | undefined {
  for (let day = Math.floor(fromMs / dayMs) * dayMs; day < endMs; day += dayMs) {
    if (!isDueOn(schedule, new Date(day))) continue
    const minute = minutes.find(each => day + each >= fromMs)
    if (minute !== undefined) return day + minute < endMs ? day + minute : undefined
  }
  return undefined
}

function previousShown(
  schedule: CalendarSchedule,
  minutes: readonly number[],
  { fromMs: beginMs, toMs }: LocalInterval,
): number | undefined {
  for (let day = Math.floor(toMs / dayMs) * dayMs; day + dayMs > beginMs; day -= dayMs) {
    if (!isDueOn(schedule, new Date(day))) continue
    const minute = minutes.findLast(each => day + each <= toMs)
    if (minute !== undefined) return day + minute >= beginMs ? day + minute : undefined
  }
  return undefined
}

/** If both day fields are restricted, matching one of them is enough. */
function isDueOn(schedule: CalendarSchedule, day: Date): boolean {
  const { months, daysOfMonth, daysOfWeek, anyDayOfMonth, anyDayOfWeek } = schedule
  if (!months.has(day.getUTCMonth() + 1)) return false
  const inMonth = daysOfMonth.has(day.getUTCDate())
  const inWeek = daysOfWeek.has(day.getUTCDay())
  return anyDayOfMonth || anyDayOfWeek ? inMonth && inWeek : inMonth || inWeek
}
