import type { WriteRecord } from '#/api/write-record.ts'
import type { TraceTarget } from '../trace.ts'

/** The writes that roots caused, directly or not. Writes must be visited in the order of their revisions. */
export class CausalChain {
  readonly #revisions: Set<number>

  constructor(roots: Iterable<number>) {
    this.#revisions = new Set(roots)
  }

  isCausedBy(causes: readonly number[]): boolean {
    return causes.some(cause => this.#revisions.has(cause))
  }

  /** Whether the write is in the chain, of which it is a cause from then on. */
  visit({ revision, origin }: WriteRecord): boolean {
    if (this.#revisions.has(revision)) return true
    if (origin?.pass === undefined || !this.isCausedBy(origin.pass.causes)) return false
    this.#revisions.add(revision)
    return true
  }
}

/** Events report on hops and are none themselves; leases are heartbeats. */
export function isReport({ object }: WriteRecord): boolean {
  return object.resource === 'events' || object.resource === 'leases'
}

export function isTarget(
  { object }: WriteRecord,
  { kind, apiVersion, namespace, name }: TraceTarget,
): boolean {
  return (
    object.name === name &&
    object.kind === kind &&
    (object.namespace ?? '') === (namespace ?? '') &&
    (apiVersion === undefined || groupOf(object.apiVersion) === groupOf(apiVersion))
  )
}

/** Another object of the target's kind. The chain of a pod does not contain its siblings. */
export function isSibling(record: WriteRecord, target: TraceTarget): boolean {
  const { object } = record
  const sameKind = object.kind === target.kind
  const sameGroup =
    target.apiVersion === undefined || groupOf(object.apiVersion) === groupOf(target.apiVersion)
  return sameKind && sameGroup && !isTarget(record, target)
}

/** The version of an object may differ between the client and the record. */
function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}
