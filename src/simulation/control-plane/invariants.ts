import type { KubernetesObject } from '#/api/metadata.ts'
import type { StoreEvent, WatchBatch } from '#/store/store.ts'
import { SurgeBounds } from './deployment-bounds.ts'
import type { UncertainWrites } from './uncertain-writes.ts'
import { checkPodStatusOrder } from './node-invariants.ts'
import { JobCounts } from './job-counts.ts'
import { PodCounts } from './pod-counts.ts'
import { QuotaBounds } from './quota-bounds.ts'
import { OrdinalOrder } from './stateful-set-order.ts'
import { resourcePrefixOf, World, type Changed } from './world.ts'

export interface InvariantsOptions {
  /** All writes in their order. */
  readonly writes: (signal: AbortSignal) => AsyncIterable<WatchBatch>
  /** The revision after startup. */
  readonly firstRevision: number
  readonly nowMs: () => number
  readonly uncertainWrites: UncertainWrites
  readonly onChange: (event: StoreEvent, changed: Changed) => void
  /** Records every change after startup, except leases and events. */
  readonly record: (text: string) => void
}

/** Written continuously and irrelevant for the desired and actual state. */
const noise: ReadonlySet<string> = new Set(['leases', 'events'])

/** Checks every revision of the store as it is written. */
export class Invariants {
  readonly violations: string[] = []
  readonly #options: InvariantsOptions
  readonly #world = new World()
  readonly #deployments: SurgeBounds
  readonly #pods: PodCounts
  readonly #quotas: QuotaBounds
  readonly #jobs = new JobCounts()
  readonly #order: OrdinalOrder
  #changedMs = 0

  constructor(options: InvariantsOptions) {
    this.#options = options
    this.#deployments = new SurgeBounds(this.#world)
    this.#quotas = new QuotaBounds(this.#world)
    this.#order = new OrdinalOrder(this.#world)
    this.#pods = new PodCounts(this.#world, options.uncertainWrites)
  }

  /** Time of the last write other than leases and events. */
  get changedMs(): number {
    return this.#changedMs
  }

  async run(signal: AbortSignal): Promise<void> {
    const { writes, firstRevision, record } = this.#options
    for await (const { events } of writes(signal)) {
      for (const event of events) {
        if (noise.has(resourcePrefixOf(event.key))) continue
        if (event.revision > firstRevision) record(`revision ${event.revision}: ${event.type} ${event.key}`)
        this.#look(event)
      }
    }
  }

  #look(event: StoreEvent): void {
    const nowMs = this.#options.nowMs()
    this.#changedMs = nowMs
    const changed = this.#world.apply(event, nowMs)
    this.#options.onChange(event, changed)
    const { after } = changed
    const found = [
      ...(after === undefined ? [] : checkOwners(after)),
      ...this.#deployments.check(changed),
      ...this.#pods.check(changed),
      ...this.#jobs.check(changed),
      ...this.#order.check(changed),
      ...this.#quotas.check(changed),
      ...checkPodStatusOrder(changed),
    ]
    for (const violation of found)
      this.violations.push(`revision ${event.revision} at ${nowMs} ms: ${violation}`)
  }
}

/** An object has at most one controller reference. */
function checkOwners(object: KubernetesObject): readonly string[] {
  const controllers = (object.metadata.ownerReferences ?? []).filter(owner => owner.controller)
  if (controllers.length <= 1) return []
  return [`${object.kind} ${object.metadata.name} has ${controllers.length} controllers`]
}
