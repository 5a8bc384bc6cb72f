/** Plans the trace of an object from recorded writes and passes. Pure, and without modules of Node: browsers run it. */
import type { WriteRecord } from '#/api/write-record.ts'
import type { EndedPass } from '#/client/pass-log.ts'
import type { Hop, Trace, TraceTarget } from './trace.ts'
import { buildHops } from './plan/build-hops.ts'
import { planBreakdown } from './plan/breakdown.ts'
import { ChainSelection } from './plan/chain-selection.ts'
import { findRoot } from './plan/find-root.ts'

export interface TraceInput {
  /** In any order, and more than those of the chain. */
  readonly writes: readonly WriteRecord[]
  readonly passes: readonly EndedPass[]
  readonly target: TraceTarget
  /** A revision of the target: the chain that this write is part of, instead of the latest one. */
  readonly atRevision?: number | undefined
  /** Includes events, and what happened after the chain was quiet. */
  readonly isComplete?: boolean | undefined
}

/** The chain of the target. Undefined if no write of it is recorded. */
export function planTrace({
  writes,
  passes,
  target,
  atRevision,
  isComplete = false,
}: TraceInput): Trace | undefined {
  const ordered = writes.toSorted((left, right) => left.revision - right.revision)
  const found = findRoot({ writes: ordered, passes, target, atRevision })
  if (found === undefined) return undefined
  const selection = new ChainSelection({ ...found, target, isComplete })
  for (const write of ordered) selection.offerWrite(write)
  for (const pass of passes.toSorted((left, right) => left.endedMs - right.endedMs)) selection.offerPass(pass)
  const hops = buildHops(found.root, selection.writes, selection.passes)
  const root = hops[0]
  if (root === undefined) return undefined
  return {
    target,
    root,
    hops,
    startedMs: root.startedMs,
    endedMs: hops.reduce((latest, { endedMs }) => Math.max(latest, endedMs), root.endedMs),
    breakdown: planBreakdown(hops),
    notes: [...rootNotes(found.root), ...selection.notes(), ...clockNotes(hops)],
  }
}

function rootNotes({ origin, revision }: WriteRecord): readonly string[] {
  if (origin === undefined) return [`revision ${revision} was written without a record of its origin`]
  const causes = origin.pass?.causes ?? []
  if (causes.length === 0) return []
  return [`the chain begins earlier: its cause, revision ${causes.join(', ')}, is not recorded any more`]
}

function clockNotes(hops: readonly Hop[]): readonly string[] {
  const nodes = new Set(hops.flatMap(hop => (hop.clockShiftMs === undefined ? [] : [hop.node ?? hop.actor])))
  return [...nodes].map(node => `the clock of ${node} differs from the API server's: its times are corrected`)
}
