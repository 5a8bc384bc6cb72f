/**
 * Selects the default class: of those marked as default, the newest; of equally new ones, the first by name.
 */
import type { Stored } from '#/api/metadata.ts'
import { parseTime } from '#/api/text/time.ts'

export function defaultClass<T extends Stored>(
  classes: readonly T[],
  annotations: readonly string[],
): T | undefined {
  const marked = classes.filter(({ metadata }) =>
    annotations.some(each => metadata.annotations?.[each] === 'true'),
  )
  return marked.sort((a, b) => bornMs(b) - bornMs(a) || byName(a, b))[0]
}

function bornMs({ metadata }: Stored): number {
  return parseTime(metadata.creationTimestamp) ?? 0
}

function byName(a: Stored, b: Stored): number {
  return a.metadata.name < b.metadata.name ? -1 : 1
}
