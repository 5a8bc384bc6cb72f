import type { Pass } from '#/api/origin.ts'
import type { WriteRecord } from '#/api/write-record.ts'
import type { EndedPass } from '#/client/pass-log.ts'
import type { Hop, Segment } from '../trace.ts'
import { clockOf, planClockShifts, timeToleranceMs } from './clock-shifts.ts'
import {
  passSegments,
  passTimes,
  requestSegments,
  stepKey,
  stepSegments,
  type BegunPass,
} from './hop-segments.ts'

/** The hops of a chain in order of time, the root first. Writes are in the order of their revisions. */
export function buildHops(
  root: WriteRecord,
  writes: readonly WriteRecord[],
  passes: readonly EndedPass[],
): readonly Hop[] {
  const recorded = [...writes.flatMap(({ origin }) => origin?.pass ?? []), ...passes]
  const builder = new HopBuilder(recorded, planClockShifts(writes, passes))
  for (const write of writes) builder.addWrite(write, write === root)
  for (const pass of passes) builder.addPass(pass)
  return builder.hops.toSorted(
    (left, right) =>
      Number(right.depth === 0) - Number(left.depth === 0) ||
      left.startedMs - right.startedMs ||
      (left.revision ?? Number.MAX_SAFE_INTEGER) - (right.revision ?? Number.MAX_SAFE_INTEGER) ||
      left.endedMs - right.endedMs,
  )
}

class HopBuilder {
  readonly hops: Hop[] = []
  readonly #byRevision = new Map<number, Hop>()
  readonly #begun = new Map<string, BegunPass>()
  readonly #shifts: ReadonlyMap<string, number>
  /** The steps of all passes over an object, by `workOf`. */
  readonly #work: ReadonlyMap<string, readonly Segment[]>

  constructor(passes: readonly Pass[], clockShifts: ReadonlyMap<string, number>) {
    this.#shifts = clockShifts
    this.#work = new Map(
      Map.groupBy(passes, workOf)
        .entries()
        .map(([key, each]) => [
          key,
          each.flatMap(pass => stepSegments(pass, pass.startedMs + this.#shiftOf(pass))),
        ]),
    )
  }

  addWrite({ revision, timeMs, object, origin }: WriteRecord, isRoot: boolean): void {
    const receivedMs = Math.min(origin?.receivedMs ?? timeMs, timeMs)
    const request = requestSegments(origin, receivedMs, timeMs)
    const described = {
      id: String(revision),
      type: 'write' as const,
      actor: origin?.pass?.component ?? origin?.user ?? 'unknown',
      ...(origin && { userAgent: origin.userAgent, verb: origin.verb }),
      ...(origin?.subresource && { subresource: origin.subresource }),
      ...(origin?.traceparent && { traceparent: origin.traceparent }),
      object,
      revision,
      endedMs: timeMs,
    }
    const hop: Hop =
      origin?.pass === undefined
        ? { ...described, causes: [], depth: isRoot ? 0 : 1, startedMs: receivedMs, segments: request }
        : {
            ...described,
            ...this.#passPart(origin.pass, { byMs: receivedMs, request, objectKey: keyOf(object), isRoot }),
          }
    this.#byRevision.set(revision, hop)
    this.hops.push(hop)
  }

  addPass(pass: EndedPass): void {
    const part = this.#passPart(pass, { byMs: pass.endedMs, request: [], objectKey: pass.key, isRoot: false })
    const endedMs = Math.max(...part.segments.map(each => each.startedMs + each.durationMs))
    this.hops.push({ id: part.passId, type: 'pass', actor: pass.component, ...part, endedMs })
  }

  #passPart(pass: Pass, { byMs, request, objectKey, isRoot }: PassContext): PassPart {
    const causes = isRoot ? [] : pass.causes.flatMap(cause => this.#byRevision.get(cause) ?? [])
    const passId = [pass.component, pass.node ?? '', pass.key, pass.startedMs].join('|')
    const begun = this.#begun.get(passId)
    const shiftMs = this.#shiftOf(pass)
    const parent = triggerOf(pass.queuedMs + shiftMs, causes)
    const times = passTimes(pass, {
      shiftMs,
      earliestMs: parent?.endedMs,
      byMs,
      isEnded: request.length === 0,
    })
    const work = this.#work.get(workOf(pass)) ?? []
    const hasOtherCause = pass.causes.some(cause => {
      return cause > (parent?.revision ?? 0) && !this.#byRevision.has(cause)
    })
    const segments = passSegments(pass, { times, begun, parent, work, hasOtherCause })
    const begins = segments[0]?.kind === 'watch' || segments[0]?.kind === 'gap' ? segments.slice(1) : segments
    const startedMs = Math.min(...begins.map(each => each.startedMs), ...request.map(each => each.startedMs))
    this.#begin(passId, [...segments, ...request])
    const goesOn = parent !== undefined && parent.actor === pass.component && isSameObject(parent, objectKey)
    return {
      ...(pass.node && { node: pass.node }),
      key: pass.key,
      passId,
      causes: causes.map(({ id }) => id),
      ...(parent && { parent: parent.id }),
      depth: isRoot ? 0 : parent === undefined ? 1 : parent.depth + (goesOn ? 0 : 1),
      startedMs: Math.max(startedMs, parent?.startedMs ?? startedMs),
      segments: [...segments, ...request],
      ...(shiftMs !== 0 && { clockShiftMs: shiftMs }),
    }
  }

  #shiftOf(pass: Pass): number {
    return this.#shifts.get(clockOf(pass)) ?? 0
  }

  #begin(passId: string, segments: readonly Segment[]): void {
    const begun = this.#begun.get(passId) ?? { shown: new Set(), requests: [], endedMs: 0 }
    this.#begun.set(passId, begun)
    for (const segment of segments) {
      if (segment.kind === 'step') begun.shown.add(stepKey(segment))
      if (segment.kind !== 'request') continue
      begun.requests.push(segment)
      begun.endedMs = Math.max(begun.endedMs, segment.startedMs + segment.durationMs)
    }
  }
}

interface PassContext {
  /** When the request of the pass was received, or the pass ended. */
  readonly byMs: number
  /** Empty for a pass without a write. */
  readonly request: readonly Segment[]
  readonly objectKey: string
  readonly isRoot: boolean
}

type PassPart = Pick<
  Hop,
  'node' | 'key' | 'causes' | 'parent' | 'depth' | 'startedMs' | 'segments' | 'clockShiftMs'
> & { readonly passId: string }

/** The latest cause that was visible when the key was added to the queue. Later ones were merged into the same pass. */
function triggerOf(queuedMs: number, causes: readonly Hop[]): Hop | undefined {
  return causes.findLast(({ endedMs }) => endedMs <= queuedMs + timeToleranceMs) ?? causes[0]
}

function workOf({ component, node = '', key }: Pass): string {
  return [component, node, key].join('|')
}

function keyOf({
  namespace,
  name,
}: {
  readonly namespace?: string | undefined
  readonly name: string
}): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

function isSameObject({ object, key }: Hop, objectKey: string): boolean {
  return (object === undefined ? key : keyOf(object)) === objectKey
}
