import { isApiError } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { keyOf, parseKey, type Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Pass } from '#/api/origin.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { Platform } from '#/platform/platform.ts'
import type { PodInfo } from '../pod-info.ts'
import type { Profile } from '../profile.ts'

export interface FailureReporterOptions {
  readonly platform: Platform
  readonly client: Client
  readonly recorderOf: (profile: Profile) => EventRecorder
}

export interface SchedulingFailure {
  readonly reason: 'Unschedulable' | 'SchedulerError'
  readonly message: string
  /** The nominated node; empty to clear it, undefined to leave it unchanged. */
  readonly nominatedNode: string | undefined
}

interface ReportOptions {
  readonly profile: Profile
  readonly signal: AbortSignal
  /** Of the cycle that failed. */
  readonly pass: () => Pass
}

/** Maximum length of an event message in the API. */
const eventCharactersMax = 1_024

/** Reports failed scheduling attempts in events and in the PodScheduled condition. */
export class FailureReporter {
  readonly #options: FailureReporterOptions

  constructor(options: FailureReporterOptions) {
    this.#options = options
  }

  /** Records an event and updates the pod status, without waiting for it. */
  report(info: PodInfo, failure: SchedulingFailure, options: ReportOptions): void {
    const { recorderOf, platform } = this.#options
    const { profile, signal } = options
    const message = shortened(failure.message)
    recorderOf(profile).record(info.pod, { type: 'Warning', reason: 'FailedScheduling', message })
    void this.#updateStatus(info.pod, failure, options).catch((error: unknown) => {
      if (!signal.aborted) platform.log.info('Error updating pod', { pod: info.key, error })
    })
  }

  reportError(info: PodInfo, error: unknown, options: ReportOptions): void {
    const message = error instanceof Error ? error.message : String(error)
    this.report(info, { reason: 'SchedulerError', message, nominatedNode: '' }, options)
  }

  /** Writes the PodScheduled condition and the nominated node. Does nothing if they are unchanged. */
  async #updateStatus(
    pod: Stored<Pod>,
    failure: SchedulingFailure,
    { signal, pass }: ReportOptions,
  ): Promise<void> {
    const { client, platform } = this.#options
    const { reason, message, nominatedNode } = failure
    const current = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
    const isCurrent = current?.status === 'False' && current.reason === reason && current.message === message
    const isNominationCurrent =
      nominatedNode === undefined || (pod.status?.nominatedNodeName ?? '') === nominatedNode
    if (isCurrent && isNominationCurrent) return
    const condition = {
      type: 'PodScheduled',
      status: 'False',
      reason,
      message,
      lastTransitionTime:
        current?.status === 'False' ? current.lastTransitionTime : formatTime(platform.clock.now()),
      ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
    }
    const status = {
      conditions: [condition],
      ...(!isNominationCurrent && { nominatedNodeName: nominatedNode || null }),
    }
    const at = { ...parseKey(keyOf(pod)), subresource: 'status' }
    try {
      await client.patch(pods, at, { type: 'strategic', patch: { status } }, { signal, pass: pass() })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

function shortened(message: string): string {
  return message.length <= eventCharactersMax ? message : `${message.slice(0, eventCharactersMax - 4)} ...`
}
