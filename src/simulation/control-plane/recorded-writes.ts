import { defaultResources } from '#/api/builtin.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { decodeOrigin } from '#/api/origin.ts'
import { Scheme } from '#/api/scheme.ts'
import type { WriteRecord } from '#/api/write-record.ts'
import type { StoreEvent } from '#/store/store.ts'
import { formatTrace } from '#/trace/format-trace.ts'
import { planTrace } from '#/trace/plan-trace.ts'
import type { Changed } from './world.ts'

interface RecordedWrite extends Omit<WriteRecord, 'origin'> {
  readonly note: Uint8Array | undefined
}

/** The writes of a run with their origins, of which traces of objects are planned as by `k8ts trace`. */
export class RecordedWrites {
  readonly #scheme = new Scheme(defaultResources())
  readonly #nowMs: () => number
  readonly #writes: RecordedWrite[] = []

  /** The wall time. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  add({ revision, note }: StoreEvent, { before, after }: Pick<Changed, 'before' | 'after'>): void {
    const { apiVersion = '', kind = '', metadata } = (after ?? before)!
    const { namespace, name, uid } = metadata
    const resource = this.#scheme.byKind({ ...parseGroupVersion(apiVersion)!, kind })?.plural ?? ''
    const object = { apiVersion, kind, resource, ...(namespace && { namespace }), name, uid }
    const type = after === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED'
    this.#writes.push({ revision, timeMs: this.#nowMs(), type, object, note })
  }

  /** The trace of `KIND/NAMESPACE/NAME` or `KIND/NAME` as text; undefined if nothing was written to it. */
  traceOf(object: string): string | undefined {
    const [kind = '', ...place] = object.split('/')
    const [resource] = this.#scheme.named(kind)
    const name = place.pop()
    if (resource === undefined || name === undefined) return undefined
    const target = { kind: resource.kind, name, namespace: place[0] }
    const trace = planTrace({ writes: this.#writes.map(recordOf), passes: [], target })
    return trace && formatTrace(trace)
  }
}

/** The clocks of API servers differ, so that only durations of the origin are used. */
function recordOf({ note, ...write }: RecordedWrite): WriteRecord {
  const origin = note && decodeOrigin(note)
  if (origin === undefined) return write
  const beforeStoreMs = origin.steps.findLast(({ name }) => name === 'store')?.startMs ?? 0
  return { ...write, origin: { ...origin, receivedMs: write.timeMs - beforeStoreMs } }
}
