/** ConfigMaps as the objects of a history. Other ConfigMaps of the namespace, such as its root CA, are left out. */
import type { Objects, Version, WatchedEvent } from '../history/history.ts'

export const namespace = 'robustness'

const keyPrefix = 'key-'

export function keyOfNumber(number: number): string {
  return `${keyPrefix}${number}`
}

/** Written last: what comes before it has been seen when it is seen. */
export const markerKey = `${keyPrefix}marker`

export interface ConfigMap {
  readonly metadata?: {
    readonly name?: string | undefined
    readonly resourceVersion?: string | undefined
    readonly annotations?: Readonly<Record<string, string>> | undefined
  }
  readonly data?: Readonly<Record<string, string>> | undefined
}

/** The value names a size, so that a value that is cut or mixed with another is recognized. */
export function dataOf(value: string): { readonly value: string } {
  return { value: `${value} ${'x'.repeat(sizeOf(value))}` }
}

/** The value of an object; the whole content if it is not as it was written. */
function valueOf({ data = {} }: ConfigMap): string {
  const text = data['value'] ?? JSON.stringify(data)
  const [value = ''] = text.split(' ', 1)
  return text === dataOf(value).value ? value : text.slice(0, shownMax)
}

const shownMax = 200

function sizeOf(value: string): number {
  return Number(/-(\d+)$/.exec(value)?.[1] ?? 0)
}

export function versionOf(object: ConfigMap): Version {
  return { value: valueOf(object), revision: Number(object.metadata?.resourceVersion) }
}

export function objectsOf(items: readonly ConfigMap[]): Objects {
  return Object.fromEntries(items.filter(isKey).map(item => [item.metadata!.name!, versionOf(item)]))
}

/** Undefined for an event of another ConfigMap. */
export function watchedEventOf(type: string, object: ConfigMap): WatchedEvent | undefined {
  if (type === 'BOOKMARK') return { type, revision: Number(object.metadata?.resourceVersion) }
  if (!isKey(object)) return undefined
  return { type: type as 'ADDED', key: object.metadata!.name!, ...versionOf(object) }
}

/** True for the bookmark after the initial events of a watch. */
export function endsInitialEvents(type: string, object: ConfigMap): boolean {
  return type === 'BOOKMARK' && object.metadata?.annotations?.['k8s.io/initial-events-end'] === 'true'
}

function isKey({ metadata }: ConfigMap): boolean {
  return metadata?.name?.startsWith(keyPrefix) ?? false
}
