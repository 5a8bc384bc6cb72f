/** Summarizes the hops of a trace that are alike: those of many sibling pods, and those that one object repeats. */
import type { Hop } from './trace.ts'

export interface ShownHop {
  readonly hop: Hop
  /** Of the first hop of a group: how many like it follow, of which only the last is shown. */
  readonly more?: { readonly count: number; readonly last: Hop }
}

/** Smaller groups are shown in full. */
const groupMin = 4

/**
 * The hops that remain, in the same order. Of hops of many objects the first of each group remains, of those that one
 * object repeats the first and the last.
 */
export function groupHops(hops: readonly Hop[]): readonly ShownHop[] {
  const hidden = new Set<Hop>()
  const more = new Map<Hop, { count: number; last: Hop }>()
  for (const { members, isRepeated } of [...Map.groupBy(hops, actionOf).values()].flatMap(groupsOfAction)) {
    const [first, ...rest] = members
    const last = rest.at(-1)
    if (first === undefined || last === undefined || members.length < groupMin) continue
    more.set(first, { count: rest.length, last })
    for (const hop of rest) if (!isRepeated || hop !== last) hidden.add(hop)
  }
  return hops
    .filter(hop => !hidden.has(hop))
    .map(hop => {
      const following = more.get(hop)
      return following === undefined ? { hop } : { hop, more: following }
    })
}

interface HopGroup {
  readonly members: readonly Hop[]
  readonly isRepeated: boolean
}

/** Hops of many objects are grouped by their number within the object: the second status of each pod is a group. */
function groupsOfAction(hops: readonly Hop[]): readonly HopGroup[] {
  const bySubject = [...Map.groupBy(hops, subjectOf).values()]
  if (bySubject.length < groupMin) {
    return bySubject
      .flatMap(group => [...Map.groupBy(group, stepsOf).values()])
      .map(members => ({ members, isRepeated: true }))
  }
  const longest = bySubject.reduce((most, { length }) => Math.max(most, length), 0)
  return Array.from({ length: longest }, (_, index) => {
    const members = bySubject.flatMap(group => group[index] ?? [])
    return { members: members.toSorted((left, right) => left.startedMs - right.startedMs), isRepeated: false }
  })
}

function actionOf({ type, actor, verb = '', subresource = '', object }: Hop): string {
  return [type, actor, verb, subresource, object?.kind ?? ''].join('|')
}

function subjectOf({ object, node = '', key = '' }: Hop): string {
  return object === undefined ? `${node}|${key}` : `${object.namespace ?? ''}/${object.name}`
}

/** A status after a container was started says something else than one after a probe. */
function stepsOf({ segments }: Hop): string {
  return segments
    .flatMap(({ kind, name, detail = '' }) => (kind === 'step' ? [`${name} ${detail}`] : []))
    .join('|')
}
