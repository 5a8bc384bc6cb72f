import type { HistoryRecorder } from '#/simulation/history/history.ts'
import type { Fault, MissingFault } from '../faults.ts'

/** A cluster of real processes. Disposing ends and removes all of them. */
export interface Target extends AsyncDisposable {
  /** One for each API server. */
  readonly kubeconfigs: readonly string[]
  readonly faults: readonly Fault[]
  readonly missingFaults: readonly MissingFault[]
  /** Longest time without an acknowledged write; not checked when absent. */
  readonly unavailableMsMax?: number
  /** What else must hold, when everything has healed and come to rest. */
  readonly check?: () => Promise<TargetCheck>
}

export interface TargetCheck {
  readonly violations: readonly string[]
  /** A line of the report. */
  readonly figures: string
}

export interface TargetOptions {
  /** Empty, for the state of the target; the target removes it. */
  readonly folder: string
  /** For the output of the processes. */
  readonly logFolder: string
  /** For what the faults of the target see. */
  readonly recorder: HistoryRecorder
  /** True in namespaces of its own, where the tool may mount and configure networks. */
  readonly isIsolated: boolean
}
