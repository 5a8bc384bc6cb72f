/** The history of a simulation, in memory and in the trace. */
import type { Simulation } from '#/platform/simulated.ts'
import {
  describeOperation,
  type CallRecord,
  type HistoryRecord,
  type HistoryRecorder,
} from '../history/history.ts'

export class HistoryLog implements HistoryRecorder {
  readonly records: HistoryRecord[] = []
  readonly #simulation: Simulation
  #lastMs = 0

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  /** Two events at the same virtual time are still one after the other. */
  nowMs(): number {
    this.#lastMs = Math.max(this.#simulation.nowMs, this.#lastMs + tickMs)
    return this.#lastMs
  }

  write(record: HistoryRecord | CallRecord): void {
    // Every call of a client returns, at the latest with its timeout.
    if (record.type === 'call') return
    this.records.push(record)
    const text = describeRecord(record)
    if (text !== undefined) this.#simulation.record(text)
  }
}

const tickMs = 0.000_1

function describeRecord(record: HistoryRecord): string | undefined {
  switch (record.type) {
    case 'operation':
      return describeOperation(record)
    case 'list':
      return `${record.client}: list ${record.match} at ${record.revision}`
    case 'watch': {
      const { client, afterRevision, end, events } = record
      return `${client}: watch after ${afterRevision} ${end} at ${events.at(-1)?.revision ?? afterRevision}`
    }
    case 'expired-list':
      return `${record.client}: list expired`
    case 'run':
    case 'informer':
    case 'fault':
    case 'epoch':
    case 'violation':
      return undefined
  }
}
