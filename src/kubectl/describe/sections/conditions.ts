import type { DescribeContext } from '../describer.ts'
import type { DescribeWriter } from '../describe-writer.ts'
import { localTime } from './times.ts'

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
}

/** The conditions of a workload. */
export function describeConditions(writer: DescribeWriter, conditions: readonly Condition[] = []): void {
  if (conditions.length === 0) return
  writer.write(0, 'Conditions:\n')
  writer.rows(1, [
    ['Type', 'Status', 'Reason'],
    ['----', '------', '------'],
    ...conditions.map(({ type, status, reason = '' }) => [`${type} `, status, reason]),
  ])
}

/** Conditions with the times of their transitions. */
export function describeTransitions(
  conditions: readonly Condition[],
  { writer, timeZone }: Pick<DescribeContext, 'writer' | 'timeZone'>,
): void {
  writer.write(0, 'Conditions:\n')
  writer.rows(1, [
    ['Type', 'Status', 'LastTransitionTime', 'Reason', 'Message'],
    ['----', '------', '------------------', '------', '-------'],
    ...conditions.map(({ type, status, lastTransitionTime, reason = '', message = '' }) => {
      return [type, status, localTime(lastTransitionTime, { timeZone }), reason, message]
    }),
  ])
}
