/** A moment in the history of a cluster: a revision, or a time. */
import { parseTime } from '#/api/text/time.ts'
import { tryParseDurationMs } from '#/api/text/duration.ts'

export type Moment =
  | { readonly type: 'revision'; readonly revision: number }
  | { readonly type: 'time'; readonly timeMs: number }

/** The forms of `parseMoment`, for messages. */
export const momentForms =
  'a revision, a time before now such as 10m or 2d, HH:MM, or an RFC 3339 time such as 2026-01-31T08:00:00Z'

/** `HH:MM` and `HH:MM:SS` are in the local time zone, and not in the future. Undefined for an invalid text. */
export function parseMoment(text: string, nowMs: number): Moment | undefined {
  if (/^\d+$/.test(text)) {
    const revision = Number(text)
    return revision > 0 && Number.isSafeInteger(revision) ? { type: 'revision', revision } : undefined
  }
  const timeMs = parseTime(text.toUpperCase()) ?? parseClockTime(text, nowMs) ?? parseAge(text, nowMs)
  return timeMs === undefined || timeMs < 0 ? undefined : { type: 'time', timeMs }
}

/** The parameter `at` of a request. */
export function momentParameter(moment: Moment): string {
  return moment.type === 'revision' ? String(moment.revision) : new Date(moment.timeMs).toISOString()
}

export function formatMoment(moment: Moment): string {
  return moment.type === 'revision' ? `revision ${moment.revision}` : momentParameter(moment)
}

function parseClockTime(text: string, nowMs: number): number | undefined {
  const [, hour = '', minute = '', second = '0'] = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text) ?? []
  if (hour === '' || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  const time = new Date(nowMs)
  time.setHours(Number(hour), Number(minute), Number(second), 0)
  if (time.getTime() > nowMs) time.setDate(time.getDate() - 1)
  return time.getTime()
}

const dayMs = 86_400_000

/** `1h30m`; as kubectl prints ages, days may come first: `2d4h`. */
function parseAge(text: string, nowMs: number): number | undefined {
  const [, days = '', rest = ''] = /^(?:(\d{1,6})d)?(.*)$/.exec(text) ?? []
  const restMs = rest === '' ? 0 : tryParseDurationMs(rest)
  if (restMs === undefined || restMs < 0 || (days === '' && rest === '')) return undefined
  return nowMs - Number(days) * dayMs - restMs
}
