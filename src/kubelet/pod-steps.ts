/**
 * What the kubelet has done for a pod since it last wrote the pod's status: the steps that took time, and the versions
 * of the pod that it acted on. The next write carries them as its pass.
 */
import { causesMax, stepsMax, type Pass, type Step } from '#/api/origin.ts'
import type { Clock } from '#/platform/platform.ts'

export interface PodStepsOptions {
  readonly clock: Clock
  /** Name of the node. */
  readonly node: string
}

export interface PodStep {
  readonly name: string
  /** A container or an image. */
  readonly detail?: string | undefined
  /** Wall time. */
  readonly startedMs: number
  readonly durationMs: number
}

interface ReceivedVersion {
  readonly revision: number
  /** Wall time. */
  readonly atMs: number
}

/** Shorter waits are left out: a pass has room for a few steps only. */
const waitMsMin = 10

export class PodSteps {
  readonly #options: PodStepsOptions
  #steps: PodStep[] = []
  /** Versions of the pod since the last pass, oldest first. */
  #received: ReceivedVersion[] = []
  #latest: number | undefined
  /** Since when a sync is due, and when the first one began, in wall time. */
  #dueMs: number | undefined
  #startedMs: number | undefined
  /** What the pass that is being sent contains. */
  #sent: { readonly steps: readonly PodStep[]; readonly received: readonly ReceivedVersion[] } | undefined

  constructor(options: PodStepsOptions) {
    this.#options = options
  }

  /** A version of the pod has arrived; `ageMs` ago if it had to wait. */
  receive(resourceVersion: string | undefined, ageMs = 0): void {
    const revision = Number(resourceVersion)
    if (!Number.isSafeInteger(revision) || revision === this.#latest) return
    this.#latest = revision
    this.#received.push({ revision, atMs: this.#options.clock.now() - ageMs })
    if (this.#received.length > causesMax) this.#received.shift()
  }

  /** A sync begins, which was due for this long. */
  beginSync(waitedMs: number): void {
    const nowMs = this.#options.clock.now()
    this.#startedMs ??= nowMs
    this.#dueMs ??= nowMs - waitedMs
  }

  /** Measures the work, also if it fails. */
  async run<T>(name: string, detail: string | undefined, work: () => Promise<T>): Promise<T> {
    return this.#measure(work, times => this.add({ name, detail, ...times }))
  }

  /** Like `run`, for work that usually takes no time. */
  async runBrief<T>(name: string, detail: string | undefined, work: () => Promise<T>): Promise<T> {
    return this.#measure(work, times => this.addWait({ name, detail, ...times }))
  }

  add(step: PodStep): void {
    this.#steps.push(step)
    if (this.#steps.length > stepsMax) this.#steps.shift()
  }

  /** Adds the step if it is long enough to explain a delay. */
  addWait(step: PodStep): void {
    if (step.durationMs >= waitMsMin) this.add(step)
  }

  /** Nothing is in progress or to be written: what was done so far led to no write. */
  settle(): void {
    this.#steps = []
    this.#received = []
    this.#dueMs = undefined
    this.#startedMs = undefined
  }

  /** For a write that begins after this wait; `end` tells that it has succeeded. */
  begin(key: string, wait?: PodStep): Pass {
    const { clock, node } = this.#options
    const received = this.#received
    const steps = wait === undefined || wait.durationMs < waitMsMin ? this.#steps : [...this.#steps, wait]
    this.#sent = { steps: [...this.#steps], received: [...received] }
    const startedMs = Math.min(this.#startedMs ?? clock.now(), ...steps.map(step => step.startedMs))
    const versions = received.map(({ revision }) => revision)
    const causes = versions.length === 0 && this.#latest !== undefined ? [this.#latest] : versions
    const queuedMs = received[0]?.atMs ?? this.#dueMs ?? startedMs
    return {
      component: 'kubelet',
      node,
      key,
      causes: causes.toSorted((left, right) => left - right),
      queuedMs: Math.min(queuedMs, startedMs),
      startedMs,
      steps: steps.slice(-stepsMax).map(step => stepAfter(startedMs, step)),
    }
  }

  /** The write of the pass has succeeded. */
  end(): void {
    const { steps = [], received = [] } = this.#sent ?? {}
    this.#steps = this.#steps.filter(step => !steps.includes(step))
    this.#received = this.#received.filter(version => !received.includes(version))
    this.#dueMs = undefined
    this.#startedMs = undefined
    this.#sent = undefined
  }

  async #measure<T>(
    work: () => Promise<T>,
    add: (times: Pick<PodStep, 'startedMs' | 'durationMs'>) => void,
  ): Promise<T> {
    const { clock } = this.#options
    const [startedMs, beganMs] = [clock.now(), clock.monotonicMs()]
    try {
      return await work()
    } finally {
      add({ startedMs, durationMs: clock.monotonicMs() - beganMs })
    }
  }
}

function stepAfter(passStartedMs: number, { name, detail, startedMs, durationMs }: PodStep): Step {
  const startMs = startedMs - passStartedMs
  return { name, startMs, durationMs, ...(detail !== undefined && { detail }) }
}
