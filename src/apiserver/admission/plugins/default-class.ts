/**
 * Selects the default class: of those marked as default, the newest; of equally new ones, the first by name.
 */
import type { KubernetesObject } from '#/api/metadata.ts'
import { parseTime } from '#/api/text/time.ts'

export function defaultClass<T extends KubernetesObject>(
  classes: readonly T[],
  annotations: readonly string[],
): T | undefined {
  const marked = classes.filter(({ metadata }) =>
    annotations.some(each => metadata.annotations?.[each] === 'true'),
  )
  return marked.sort((a, b) => bornMs(b) - bornMs(a) || byName(a, b))[0]
}

function bornMs({ metadata }: KubernetesObject): number {
  return parseTime(metadata.creationTimestamp ?? '') ?? 0
}

function byName(a: KubernetesObject, b: KubernetesObject): number {
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1
}
