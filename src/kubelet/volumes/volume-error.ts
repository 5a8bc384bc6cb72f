import { messageOf } from '#/base/message-of.ts'
import { quote } from '#/api/text/quote.ts'
import { VolumeResolutionError } from './claimed-volume.ts'
import { VolumeStepError } from './volume-plugin.ts'

export interface VolumeFailure {
  /** Name in the pod spec. */
  readonly volume: string
  /** Name in messages: the persistent volume's if there is one. */
  readonly shownName: string
  readonly error: unknown
}

/** Volumes of a pod are not ready. The message is for logs. */
export class VolumeError extends Error {
  /** Messages of FailedMount events to record now. */
  readonly events: readonly string[]
  /** Message of a further event to record after `volumeWaitMs`. */
  readonly summary: string
  /** Names of the volumes that are not ready. */
  readonly volumes: readonly string[]

  constructor(failures: readonly VolumeFailure[]) {
    const unknown = failures.filter(({ error }) => error instanceof VolumeResolutionError)
    const known = failures.filter(({ error }) => !(error instanceof VolumeResolutionError))
    const reasons = unknown.map(({ error }) => messageOf(error)).join('; ')
    const states = `unmounted volumes=${list(failures)}, unattached volumes=[]`
    const summarize = (reason: string): string =>
      `Unable to attach or mount volumes: ${states}, failed to process volumes=${list(unknown)}: ${reason}`
    const events = [...known.map(mountMessage), ...(unknown.length > 0 ? [summarize(reasons)] : [])]
    super(events.join('; '), { cause: failures[0]?.error })
    this.name = 'VolumeError'
    this.events = events
    this.summary = summarize(reasons || 'context deadline exceeded')
    this.volumes = failures.map(({ volume }) => volume)
  }
}

/** Time after which the summary event is recorded. */
export const volumeWaitMs = 123_000

function mountMessage({ shownName, error }: VolumeFailure): string {
  const step = error instanceof VolumeStepError ? error.step : 'MountVolume.SetUp failed'
  return `${step} for volume ${quote(shownName)} : ${messageOf(error)}`
}

function list(failures: readonly VolumeFailure[]): string {
  return `[${failures
    .map(({ volume }) => volume)
    .sort()
    .join(' ')}]`
}
