import { formatMicroTime } from '#/api/text/time.ts'
import type { Clock } from '#/platform/platform.ts'
import type { HollowKubelet } from '../hollow-kubelet.ts'
import type { LogSource, OpenLog } from '../server/container-log.ts'
import type { ContainerLogs } from '../server/show-container-log.ts'
import { findRun, planLog, type ContainerRun, type SimulatedLogLine } from './plan-log.ts'

/** Logs computed from the status of pods when they are read. Nothing is stored. */
export function simulatedLogs(kubelet: Pick<HollowKubelet, 'pods'>, clock: Clock): ContainerLogs {
  return {
    find: async containerId => {
      const run = findCurrentRun(kubelet, containerId)
      if (run === undefined) return undefined
      const log = new SimulatedLog({ clock, run, find: () => findCurrentRun(kubelet, containerId) })
      return { source: log, isRunning: async () => log.isRunning }
    },
  }
}

function findCurrentRun(
  { pods }: Pick<HollowKubelet, 'pods'>,
  containerId: string,
): ContainerRun | undefined {
  const [uid] = containerId.split('/', 1)
  const pod = pods.list().find(({ metadata }) => metadata.uid === uid)
  return pod && findRun(pod, containerId)
}

interface SimulatedLogOptions {
  readonly clock: Clock
  readonly run: ContainerRun
  /** Undefined once the pod is deleted. */
  readonly find: () => ContainerRun | undefined
}

/** 128 + SIGTERM. */
const terminatedBySignal = 143

class SimulatedLog implements LogSource {
  readonly #options: SimulatedLogOptions
  #run: ContainerRun

  constructor(options: SimulatedLogOptions) {
    this.#options = options
    this.#run = options.run
  }

  get isRunning(): boolean {
    return this.#currentRun().end === undefined
  }

  async open(): Promise<OpenLog> {
    return {
      file: {
        sizeBytes: this.#content().length,
        read: async (offset, length) => this.#content().subarray(offset, offset + length),
      },
      isReplaced: async () => false,
      isShorterThan: async sizeBytes => this.#content().length < sizeBytes,
      [Symbol.asyncDispose]: async () => undefined,
    }
  }

  /** Waits for lines that follow from the time; other changes are changes of the pod. */
  async watch(onChange: () => void, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    onChange()
    while (!signal.aborted) {
      const nowMs = clock.now()
      const next = planLog(this.#currentRun()).find(({ timeMs }) => timeMs > nowMs)
      if (next === undefined) return
      await clock.sleep(next.timeMs - nowMs, signal).catch(() => undefined)
      onChange()
    }
  }

  #content(): Buffer {
    const nowMs = this.#options.clock.now()
    const lines = planLog(this.#currentRun()).filter(({ timeMs }) => timeMs <= nowMs)
    return Buffer.from(lines.map(formatLine).join(''))
  }

  /** A run whose pod was deleted ended with it. */
  #currentRun(): ContainerRun {
    const { clock, find } = this.#options
    const end = { finishedMs: clock.now(), exitCode: terminatedBySignal }
    this.#run = find() ?? (this.#run.end ? this.#run : { ...this.#run, end })
    return this.#run
  }
}

function formatLine({ timeMs, stream, text, isPartial }: SimulatedLogLine): string {
  return `${formatMicroTime(timeMs)} ${stream} ${isPartial ? 'P' : 'F'} ${text}\n`
}
