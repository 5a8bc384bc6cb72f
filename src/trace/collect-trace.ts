/** Collects the trace of an object from an API server, with the rights of the client. Only reads. */
import type { WriteRecord } from '#/api/write-record.ts'
import type { RawClient } from '#/client/client.ts'
import { listWrites } from '#/client/list-writes.ts'
import { KnownWrites } from './collect/known-writes.ts'
import { readOwnWrites, targetOf, type TracedObject } from './collect/read-own-writes.ts'
import { readPasses, type PassList } from './collect/read-passes.ts'
import { ChainSelection } from './plan/chain-selection.ts'
import { isFromOutside } from './is-from-outside.ts'
import { planTrace } from './plan-trace.ts'
import type { Trace, TraceTarget } from './trace.ts'

export interface CollectOptions {
  /** A revision of the object: the chain that this write is part of, instead of the latest one. */
  readonly atRevision?: number | undefined
  /** Includes events, and what happened after the chain was quiet. */
  readonly isComplete?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** Undefined if no write of the object is recorded. Throws NoHistoryError if the server records none at all. */
export async function collectTrace(
  client: RawClient,
  object: TracedObject,
  options: CollectOptions = {},
): Promise<Trace | undefined> {
  const collector = new TraceCollector(client, object, options)
  return collector.collect()
}

/** A write may come long after the pass that it belongs to was queued, as after an image pull. */
const quietReadMs = 3_600_000

/** Requests from outside that are tried as root, the latest first. */
const candidatesMax = 5

class TraceCollector {
  readonly #client: RawClient
  readonly #object: TracedObject
  readonly #options: CollectOptions
  readonly #target: TraceTarget
  readonly #known: KnownWrites

  constructor(client: RawClient, object: TracedObject, options: CollectOptions) {
    this.#client = client
    this.#object = object
    this.#options = options
    this.#target = targetOf(object)
    this.#known = new KnownWrites(client, options.signal)
  }

  async collect(): Promise<Trace | undefined> {
    const { atRevision, signal } = this.#options
    const own = await readOwnWrites(this.#client, this.#object, { atRevision, signal })
    if (own.length === 0) return undefined
    this.#known.add(own)
    const candidates = await this.#candidates(own)
    const writes = new Map([...own, ...candidates.ancestors].map(write => [write.revision, write]))
    let trace: Trace | undefined
    for (const root of candidates.roots) {
      const selection = new ChainSelection({
        root,
        path: new Set(candidates.ancestors.map(({ revision }) => revision)),
        target: this.#target,
        isComplete: this.#options.isComplete ?? false,
      })
      const refused = await this.#readChain(selection, root)
      for (const write of [...selection.writes, ...refused]) writes.set(write.revision, write)
      trace = await this.#plan([...writes.values()], root)
      if (trace?.root.revision === root.revision && trace.hops.length > 1) return trace
    }
    return trace
  }

  /** Possible roots, the latest first: requests from outside, or what else is known to have begun the chain. */
  async #candidates(own: readonly WriteRecord[]): Promise<Candidates> {
    const { atRevision } = this.#options
    const newest = own.at(-1)
    const oldest = own[0]
    if (newest === undefined || oldest === undefined) return { roots: [], ancestors: [] }
    const anchors =
      atRevision === undefined ? [newest, oldest] : own.filter(({ revision }) => revision === atRevision)
    const ancestors: WriteRecord[] = []
    for (const anchor of anchors) ancestors.push(...(await this.#known.findAncestors(anchor)))
    const possible = atRevision === undefined ? [...ancestors, ...own] : ancestors
    const latestFirst = [...new Set(possible)].toSorted((left, right) => right.revision - left.revision)
    const outside = latestFirst.filter(isFromOutside).slice(0, candidatesMax)
    const first = latestFirst.at(-1)
    return { roots: outside.length > 0 || first === undefined ? outside : [first], ancestors }
  }

  /** Reads forwards from the root until the chain is complete. Returns the first write that it has no room for. */
  async #readChain(selection: ChainSelection, root: WriteRecord): Promise<readonly WriteRecord[]> {
    const { isComplete = false, signal, atRevision = 0 } = this.#options
    const { writes } = await listWrites(this.#client, { after: root.revision, ...(signal && { signal }) })
    for await (const write of writes) {
      selection.offerWrite(this.#known.get(write.revision) ?? write)
      if (selection.isCut) return [write]
      const isQuiet = write.timeMs > selection.lastMs + quietReadMs
      if (isQuiet && !isComplete && write.revision > atRevision) break
    }
    return []
  }

  async #plan(writes: readonly WriteRecord[], root: WriteRecord): Promise<Trace | undefined> {
    const input = { ...this.#options, writes, target: this.#target }
    const withoutPasses = planTrace({ ...input, passes: [] })
    if (withoutPasses === undefined) return undefined
    const { passes, notes } = await this.#passes(root, withoutPasses)
    const trace = passes.length === 0 ? withoutPasses : planTrace({ ...input, passes })
    return trace && { ...trace, notes: [...trace.notes, ...notes] }
  }

  #passes({ timeMs }: WriteRecord, { hops }: Trace): Promise<PassList> {
    const nodes = [...new Set(hops.flatMap(({ node }) => node ?? []))]
    return readPasses(this.#client, { afterMs: timeMs, nodes, signal: this.#options.signal })
  }
}

interface Candidates {
  readonly roots: readonly WriteRecord[]
  readonly ancestors: readonly WriteRecord[]
}
