/**
 * When a schedule is due: in every minute in which the clocks of its time zone show what the schedule says. So a
 * minute that clocks leave out in spring is not there, and one that they show twice in autumn is there twice.
 */
import type { CalendarSchedule, CronSchedule, IntervalSchedule } from './cron-schedule.ts'
import { zonePeriodAt } from './time-zone.ts'

export interface DueTimes {
  /** The first due time after a moment; undefined when there is none in the next years. */
  readonly next: (afterMs: number) => number | undefined
  /** The last due time until a moment, which may be that moment; undefined when there is none in the years before. */
  readonly previous: (untilMs: number) => number | undefined
}

export interface DueTimesOptions {
  /** Unless the schedule has one of its own. */
  readonly timeZone: string
  /** Intervals are counted from here. */
  readonly startMs: number
}

export function dueTimes(schedule: CronSchedule, { timeZone, startMs }: DueTimesOptions): DueTimes {
  if (schedule.kind === 'interval') return intervalTimes(schedule, startMs)
  return calendarTimes(schedule, schedule.timeZone ?? timeZone)
}

function intervalTimes({ everySeconds }: IntervalSchedule, startMs: number): DueTimes {
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

/** Who finds no day in so long never will: 31 February. */
const searchMs = 5 * 366 * dayMs

/** Inside a period of a zone clocks run as they do in UTC, only elsewhere; so each is searched by itself. */
function calendarTimes(schedule: CalendarSchedule, timeZone: string): DueTimes {
  const minutes = minutesOfDay(schedule)
  return {
    next: afterMs => {
      const lastMs = afterMs + searchMs
      for (let fromMs = Math.floor(afterMs / minuteMs + 1) * minuteMs; fromMs < lastMs;) {
        const { offsetMs, untilMs } = zonePeriodAt(timeZone, fromMs)
        const endMs = Math.min(untilMs, lastMs)
        const shown = nextShown(schedule, minutes, fromMs + offsetMs, endMs + offsetMs)
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
        const shown = previousShown(schedule, minutes, toMs + offsetMs, beginMs + offsetMs)
        if (shown !== undefined) return shown - offsetMs
        toMs = beginMs - 1
      }
      return undefined
    },
  }
}

/** In ascending order, in milliseconds from midnight. */
function minutesOfDay({ hours, minutes }: CalendarSchedule): readonly number[] {
  const sorted = [...minutes].sort((a, b) => a - b)
  return [...hours]
    .sort((a, b) => a - b)
    .flatMap(hour => sorted.map(minute => (hour * 60 + minute) * minuteMs))
}

/** What clocks show is written as the moment at which a clock in UTC shows it. */
function nextShown(
  schedule: CalendarSchedule,
  minutes: readonly number[],
  fromMs: number,
  endMs: number,
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
  toMs: number,
  beginMs: number,
): number | undefined {
  for (let day = Math.floor(toMs / dayMs) * dayMs; day + dayMs > beginMs; day -= dayMs) {
    if (!isDueOn(schedule, new Date(day))) continue
    const minute = minutes.findLast(each => day + each <= toMs)
    if (minute !== undefined) return day + minute >= beginMs ? day + minute : undefined
  }
  return undefined
}

/** Of two fields for days that both say something, one is enough. */
function isDueOn(schedule: CalendarSchedule, day: Date): boolean {
  const { months, daysOfMonth, daysOfWeek, anyDayOfMonth, anyDayOfWeek } = schedule
  if (!months.has(day.getUTCMonth() + 1)) return false
  const inMonth = daysOfMonth.has(day.getUTCDate())
  const inWeek = daysOfWeek.has(day.getUTCDay())
  return anyDayOfMonth || anyDayOfWeek ? inMonth && inWeek : inMonth || inWeek
}
