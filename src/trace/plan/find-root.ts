import type { WriteRecord } from '#/api/write-record.ts'
import type { EndedPass } from '#/client/pass-log.ts'
import type { TraceTarget } from '../trace.ts'
import { isFromOutside } from '../is-from-outside.ts'
import { isReport, isTarget } from './causal-chain.ts'

export interface RootSearch {
  /** In the order of revisions. */
  readonly writes: readonly WriteRecord[]
  readonly passes: readonly EndedPass[]
  readonly target: TraceTarget
  readonly atRevision?: number | undefined
}

export interface FoundRoot {
  readonly root: WriteRecord
  /** Revisions of the writes between the root and the write that was asked for: part of the chain in any case. */
  readonly path: ReadonlySet<number>
}

/**
 * The write that began the chain of the target: of the requests that no component of the cluster sent, the latest one
 * that changed the target, its creation or its latest change, directly or through others, and that had consequences.
 */
export function findRoot({ writes, passes, target, atRevision }: RootSearch): FoundRoot | undefined {
  const byRevision = new Map(writes.map(write => [write.revision, write]))
  const own = latestIncarnation(
    writes.filter(write => isTarget(write, target)),
    atRevision,
  )
  const newest = atRevision === undefined ? own.at(-1) : own.find(({ revision }) => revision === atRevision)
  if (newest === undefined) return undefined
  const anchors = atRevision === undefined ? [newest, ...own.slice(0, 1)] : [newest]
  const paths = anchors.map(anchor => ancestorsOf(anchor, byRevision))
  const candidates = new Set(paths.flatMap(({ roots }) => roots))
  if (atRevision === undefined) for (const write of own) if (isFromOutside(write)) candidates.add(write)
  const root = latestWithConsequences([...candidates], causesOf(writes, passes))
  if (root === undefined) return undefined
  const path = paths.find(({ visited }) => visited.has(root.revision))?.visited
  return { root, path: atRevision === undefined || path === undefined ? new Set() : path }
}

/** The versions of one object: a name may be used again after a deletion. A uid may be unknown. */
function latestIncarnation(
  own: readonly WriteRecord[],
  atRevision: number | undefined,
): readonly WriteRecord[] {
  const wanted = atRevision === undefined ? own.at(-1) : own.find(({ revision }) => revision === atRevision)
  const uid = wanted?.object.uid
  return own.filter(({ object }) => object.uid === uid || object.uid === '' || uid === '')
}

interface Ancestors {
  readonly visited: ReadonlySet<number>
  /** Writes without a recorded cause. */
  readonly roots: readonly WriteRecord[]
}

/** With an explicit queue, since a chain may be longer than the stack. */
function ancestorsOf(write: WriteRecord, byRevision: ReadonlyMap<number, WriteRecord>): Ancestors {
  const visited = new Set([write.revision])
  const pending = [write]
  const roots: WriteRecord[] = []
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { revision } = next
    const causes = (next.origin?.pass?.causes ?? []).flatMap(cause => {
      const found = cause < revision ? byRevision.get(cause) : undefined
      return found === undefined ? [] : [found]
    })
    if (causes.length === 0) roots.push(next)
    for (const cause of causes) {
      if (visited.has(cause.revision)) continue
      visited.add(cause.revision)
      pending.push(cause)
    }
  }
  return { visited, roots }
}

/** Revisions that caused something worth showing. */
function causesOf(writes: readonly WriteRecord[], passes: readonly EndedPass[]): ReadonlySet<number> {
  const causing = writes.filter(write => !isReport(write)).flatMap(({ origin }) => origin?.pass?.causes ?? [])
  return new Set([...causing, ...passes.flatMap(({ causes }) => causes)])
}

function latestWithConsequences(
  candidates: readonly WriteRecord[],
  causing: ReadonlySet<number>,
): WriteRecord | undefined {
  const latestFirst = candidates.toSorted((left, right) => right.revision - left.revision)
  const outside = latestFirst.filter(isFromOutside)
  return outside.find(({ revision }) => causing.has(revision)) ?? outside[0] ?? latestFirst.at(-1)
}
