import { formatDurationMs } from '#/api/text/duration.ts'
import type { Activity } from './activity.ts'

/** Maximum number of writes, and of keys per controller, in the message. */
const namedMax = 5

/** Explains why a cluster does not settle, for the error message of a failed test. */
export function describeActivity(world: {
  readonly withinMs: number
  readonly activity: Pick<Activity, 'busiest' | 'runaway'>
  readonly busy: ReadonlyMap<string, readonly string[]>
}): string {
  const { withinMs, activity, busy } = world
  const summary =
    activity.runaway === undefined
      ? `the cluster did not settle within ${formatDurationMs(withinMs)}`
      : `the cluster does not settle: repeated write ${activity.runaway}`
  const working = [...busy].map(([name, keys]) => `  ${name}: ${shortened(keys)}`)
  const writing = activity.busiest(namedMax).map(text => `  ${text}`)
  return [summary, ...titled('pending work:', working), ...titled('most frequent writes:', writing)].join(
    '\n',
  )
}

function titled(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines]
}

function shortened(keys: readonly string[]): string {
  const others = keys.length - namedMax
  return others <= 0 ? keys.join(', ') : `${keys.slice(0, namedMax).join(', ')} and ${others} others`
}
