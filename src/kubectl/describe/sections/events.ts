import type { Event } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { escapeFieldValue } from '#/api/selectors/field-selector.ts'
import type { DescribeContext } from '../describer.ts'
import { events } from '../related-resources.ts'
import { momentOf, timeSince } from './times.ts'

/** The object whose events are searched. An absent kind or uid matches all. */
export interface EventTarget {
  readonly name: string
  readonly namespace?: string | undefined
  readonly kind?: string | undefined
  readonly uid?: string | undefined
}

/** The events of the described object, if they are to be shown. A failure to list them shows none. */
export async function describeEvents(object: KubernetesObject, context: DescribeContext): Promise<void> {
  await describeEventsOf([targetOf(object)], context)
}

export async function describeEventsOf(
  targets: readonly EventTarget[],
  context: DescribeContext,
): Promise<void> {
  if (!context.showEvents) return
  const found = await Promise.all(targets.map(target => searchEvents(target, context).catch(() => [])))
  writeEvents(found.flat(), context)
}

export function targetOf({ kind, metadata }: KubernetesObject): EventTarget {
  return { name: metadata.name ?? '', namespace: metadata.namespace, kind, uid: metadata.uid }
}

export async function searchEvents(
  { name, namespace = '', kind, uid }: EventTarget,
  { client, chunkSize }: Pick<DescribeContext, 'client' | 'chunkSize'>,
): Promise<readonly Event[]> {
  const wanted = { name, namespace, ...(kind && { kind }), ...(uid && { uid }) }
  const fieldSelector = Object.entries(wanted)
    .map(([field, value]) => `involvedObject.${field}=${escapeFieldValue(value)}`)
    .sort()
    .join(',')
  const list = await client.listAll(events, {
    ...(namespace !== '' && { namespace }),
    fieldSelector,
    ...(chunkSize > 0 && { limit: chunkSize }),
  })
  return list.items
}

export function writeEvents(found: readonly Event[], context: DescribeContext): void {
  const { writer } = context
  if (found.length === 0) return writer.fields(0, [['Events', '<none>']])
  writer.flush()
  writer.write(0, 'Events:\n')
  writer.rows(1, [
    ['Type', 'Reason', 'Age', 'From', 'Message'],
    ['----', '------', '----', '----', '-------'],
    ...found.toSorted((left, right) => lastMs(left) - lastMs(right)).map(event => rowOf(event, context)),
  ])
}

/** An event without this time is before all others. */
function lastMs({ lastTimestamp }: Event): number {
  return momentOf(lastTimestamp) ?? Number.MIN_SAFE_INTEGER
}

function rowOf(event: Event, context: DescribeContext): string[] {
  const { type = '', reason = '', source, reportingComponent, involvedObject } = event
  const from = source?.component || reportingComponent || ''
  const message = (event.message ?? '').trim()
  const part = involvedObject.fieldPath
  return [type, reason, intervalOf(event, context), from, part ? `${part}: ${message}` : message]
}

/** `3s (x4 over 2m)`. */
function intervalOf(event: Event, context: DescribeContext): string {
  const { eventTime, firstTimestamp, lastTimestamp, series, count } = event
  const first = timeSince(eventTime || firstTimestamp, context)
  if (series) return `${timeSince(series.lastObservedTime, context)} (x${series.count ?? 0} over ${first})`
  return (count ?? 0) > 1 ? `${timeSince(lastTimestamp, context)} (x${count} over ${first})` : first
}
