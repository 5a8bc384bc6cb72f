import type { FlowSchema } from '#/api/generated/flowcontrol/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { FlowSeries } from '../metrics/flow-control.ts'
import type { RequestContext } from '../request.ts'
import { distinguisherOf } from './match-flow.ts'

/** A request as priority and fairness classified it. */
export class FlowRequest {
  readonly context: RequestContext
  readonly schema: Stored<FlowSchema> | undefined
  readonly series: FlowSeries
  readonly seats: number
  /** Monotonic. */
  readonly arrivedMs: number

  constructor(given: Omit<FlowRequest, 'distinguisher' | 'schemaName' | 'isReading'>) {
    this.context = given.context
    this.schema = given.schema
    this.series = given.series
    this.seats = given.seats
    this.arrivedMs = given.arrivedMs
  }

  get schemaName(): string {
    return this.schema?.metadata.name ?? 'catch-all'
  }

  get distinguisher(): string {
    return distinguisherOf(this.schema?.spec, this.context.user, this.context.info)
  }

  get isReading(): boolean {
    const { verb } = this.context.info
    return verb === 'get' || verb === 'list' || verb === 'watch' || verb === 'head'
  }
}
