/**
 * Image pulling and garbage collection. Pulls images according to the pull policy and verifies that the pod
 * may use images already present; removes unused images when disk usage is high. Records Kubernetes' events
 * on the pod. https://kubernetes.io/docs/concepts/containers/images/
 */
import { messageOf } from '#/base/message-of.ts'
import { formatDurationMs } from '#/api/text/duration.ts'
import type { Container, Pod, Secret } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import { formatTime } from '#/api/text/time.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import { CriError, type ContainerRuntime, type Image } from '#/cri/cri.ts'
import {
  ImageReferenceError,
  parseImageReference,
  repositoryOf,
  type ImageReference,
} from '#/cri/image-reference.ts'
import type { Platform } from '#/platform/platform.ts'
import { ImageGc } from './images/image-gc.ts'
import { mustAttemptImagePull, recordPull } from './images/plan-access.ts'
import type { ImageSpace } from './images/plan-image-gc.ts'
import { PullBackoff } from './images/pull-backoff.ts'
import {
  pullCredentials,
  PullSecretError,
  type PullCredential,
  pullWith,
  type Pulled,
} from './images/pull-credentials.ts'
import { PullRecords } from './images/pull-records.ts'
import { SharedPulls } from './images/shared-pulls.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import { imageSizeLabel, type KubeletMetrics } from './kubelet-metrics.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import { fieldPathOf, findContainer } from './pod-containers.ts'
import type { PodStartupLatency } from './pod-startup-latency.ts'
import type { PodSteps } from './pod-steps.ts'

export type { ImageSpace } from './images/plan-image-gc.ts'

export interface ImagesOptions {
  readonly platform: Platform
  readonly runtime: ContainerRuntime
  readonly objects: {
    secret(namespace: string, name: string, signal?: AbortSignal): Promise<Stored<Secret> | undefined>
  }
  readonly recorder: { record(about: Pod, content: EventContent): void }
  readonly node: Pick<KubeletConfiguration, 'rootDirectory' | 'imageGc'>
  readonly metrics: KubeletMetrics
  readonly startup: Pick<PodStartupLatency, 'pull'>
  /** The steps of a pod, by UID. */
  readonly stepsOf?: (uid: string) => PodSteps | undefined
  /** Fully qualified names of images that are never removed, such as the pause image. */
  readonly pinnedImages?: readonly string[]
  /** Maximum number of parallel pulls. */
  readonly pullsMax?: number
}

const pullsMaxUsual = 4

/** A container or an image volume. */
export type ImageUser = Pick<Container, 'name' | 'image' | 'imagePullPolicy'>

interface Request {
  readonly pod: KubeletPod
  /** Image name as written in the pod spec. */
  readonly written: string
  readonly reference: ImageReference
  /** With a tag or digest, otherwise unchanged. */
  readonly image: string
  readonly recordEvent: RecordEvent
  readonly signal: AbortSignal
}

interface ImageRequest {
  readonly policy: string
  readonly isPresent: boolean
  readonly isUsable: boolean
}

interface PresentImage {
  readonly present: Image | undefined
  readonly isUsable: boolean
}

interface TimedPull extends Pulled {
  readonly pullMs: number
}

type RecordEvent = (type: EventContent['type'], reason: string, message: string) => void

export class Images {
  readonly #options: ImagesOptions
  readonly #records: PullRecords
  readonly #backoff = new PullBackoff()
  readonly #pulls: SharedPulls<TimedPull>
  readonly #removal: ImageGc

  constructor(options: ImagesOptions) {
    const { platform, node, pullsMax = pullsMaxUsual } = options
    this.#options = options
    this.#records = new PullRecords(platform.files, node.rootDirectory)
    this.#pulls = new SharedPulls(platform.clock, pullsMax)
    this.#removal = new ImageGc({
      ...options,
      records: this.#records,
      pinnedImages: options.pinnedImages ?? [],
    })
  }

  /** Returns the image of a container, pulled if its policy requires it. Throws ImageError. */
  async ensure(pod: KubeletPod, user: ImageUser, signal: AbortSignal): Promise<Image> {
    const found = findContainer(pod, user.name)
    const recordEvent: RecordEvent = (type, reason, message) => {
      const content = { type, reason, message, ...(found && { fieldPath: fieldPathOf(found) }) }
      this.#options.recorder.record(pod, content)
    }
    try {
      const { image: written = '' } = user
      const reference = parse(written, recordEvent)
      const image = withDefaultTag(written, reference)
      return await this.#ensure(
        { pod, written, reference, image, recordEvent, signal },
        policyOf(user, reference),
      )
    } catch (error) {
      if (error instanceof ImageError) recordEvent('Warning', 'Failed', `Error: ${error.reason}`)
      throw error
    }
  }

  /**
   * Removes unused images when disk usage exceeds the threshold. Must be called every few minutes, because it
   * also records which images are in use. Resolves with an event for the node if too little space could be
   * freed.
   */
  collect(space: ImageSpace, signal?: AbortSignal): Promise<EventContent | undefined> {
    return this.#removal.collect(space, signal)
  }

  /** Removes all unused images that are old enough, because the node needs the space. */
  deleteUnused(signal?: AbortSignal): Promise<void> {
    return this.#removal.deleteUnused(signal)
  }

  /** Largest first. */
  async list(signal?: AbortSignal): Promise<readonly Image[]> {
    const images = await this.#options.runtime.listImages({ signal })
    return images.toSorted((a, b) => b.sizeBytes - a.sizeBytes)
  }

  async #ensure(request: Request, policy: string): Promise<Image> {
    const { written, recordEvent } = request
    const { startup, stepsOf } = this.#options
    const { uid } = request.pod.metadata
    const steps = stepsOf?.(uid)
    const find = (): Promise<PresentImage> => this.#find(request, policy)
    const found = await (steps === undefined ? find() : steps.runBrief('image', written, find))
    const { present, isUsable } = found
    this.#countRequest({ policy, isPresent: present !== undefined, isUsable })
    if (present !== undefined && isUsable) {
      const text = `Container image ${quote(written)} already present on machine and can be accessed by the pod`
      recordEvent('Normal', 'Pulled', text)
      return present
    }
    if (policy === 'Never') {
      const text = `Container image ${quote(written)} is not present with pull policy of Never`
      recordEvent('Warning', 'ErrImageNeverPull', text)
      throw new ImageError('ErrImageNeverPull', text)
    }
    this.#requireNoBackOff(request)
    const pull = (): Promise<Image> => startup.pull(uid, () => this.#pull(request))
    return steps === undefined ? pull() : steps.run('pull', written, pull)
  }

  async #find(request: Request, policy: string): Promise<PresentImage> {
    const present = policy === 'Always' ? undefined : await this.#inspect(request)
    const isUsable = present !== undefined && (await this.#mayUse(request, present))
    return { present, isUsable }
  }

  #countRequest({ policy, isPresent, isUsable }: ImageRequest): void {
    const present = policy === 'Always' ? 'unknown' : String(isPresent)
    const isRequired = policy !== 'Never' && !isUsable
    this.#options.metrics.images.ensureRequests.with(present, policy.toLowerCase(), String(isRequired)).add()
  }

  async #inspect({ image, recordEvent, signal }: Request): Promise<Image | undefined> {
    try {
      return await this.#options.runtime.imageStatus(image, { signal })
    } catch (error) {
      signal.throwIfAborted()
      const text = `Failed to inspect image ${quote(image)}: ${messageOf(error)}`
      recordEvent('Warning', 'InspectFailed', text)
      throw new ImageError('ImageInspectError', text, { cause: error })
    }
  }

  async #mayUse(request: Request, { id }: Image): Promise<boolean> {
    const record = await this.#records.record(id)
    const repository = repositoryOf(request.reference)
    const hasPullIntent = await this.#records.hasPullIntent(request.written, id)
    const input = { ...(record && { record }), hasPullIntent, repository }
    if (!mustAttemptImagePull({ ...input, credentials: [] })) return true
    if (!record?.credentialMapping[repository]?.kubernetesSecrets?.length) return false
    return !mustAttemptImagePull({ ...input, credentials: await this.#credentials(request) })
  }

  /** Credentials from the pod's imagePullSecrets that match the image. */
  async #credentials({ pod, reference, signal }: Request): Promise<readonly PullCredential[]> {
    const { namespace } = pod.metadata
    const names = (pod.spec?.imagePullSecrets ?? []).map(({ name }) => name ?? '').filter(name => name !== '')
    const missing: string[] = []
    const secrets = await Promise.all(
      names.map(async name => {
        const secret = await this.#options.objects.secret(namespace, name, signal).catch(() => undefined)
        if (secret === undefined) missing.push(name)
        return secret
      }),
    )
    signal.throwIfAborted()
    if (missing.length > 0) {
      const text = `Unable to retrieve some image pull secrets (${missing.join(', ')}); `
      const message = `${text}attempting to pull the image may not succeed.`
      const reason = 'FailedToRetrieveImagePullSecret'
      this.#options.recorder.record(pod, { type: 'Warning', reason, message })
    }
    try {
      return pullCredentials(
        secrets.filter(secret => secret !== undefined),
        repositoryOf(reference),
      )
    } catch (error) {
      if (!(error instanceof PullSecretError)) throw error
      throw new ImageError('ErrImagePull', error.message, { cause: error })
    }
  }

  #requireNoBackOff(request: Request): void {
    const { written, recordEvent } = request
    const waiting = this.#backoff.waiting(backoffKey(request), this.#options.platform.clock.monotonicMs())
    if (waiting === undefined) return
    const text = `Back-off pulling image ${quote(written)}`
    recordEvent('Normal', 'BackOff', text)
    throw new ImageError('ImagePullBackOff', `${text}: ${waiting.message}`)
  }

  async #pull(request: Request): Promise<Image> {
    const { written, image, recordEvent, signal } = request
    const { platform, runtime } = this.#options
    const { clock } = platform
    const key = backoffKey(request)
    const credentials = await this.#credentials(request)
    recordEvent('Normal', 'Pulling', `Pulling image ${quote(written)}`)
    const shared = [image, ...credentials.map(({ hash }) => hash)].join('\n')
    try {
      const work = (limit: AbortSignal): Promise<TimedPull> => this.#pullRecorded(request, credentials, limit)
      const { value, waitedMs } = await this.#pulls.pull(shared, work, signal)
      this.#backoff.succeeded(key)
      const found = await runtime.imageStatus(value.id, { signal })
      if (found === undefined) throw new CriError('not-found', `image ${image} not found after pull`)
      const { pullMs } = value
      this.#options.metrics.images.pullDuration.with(imageSizeLabel(found.sizeBytes)).observe(pullMs / 1_000)
      const times = `in ${whole(pullMs)} (${whole(Math.max(pullMs, waitedMs))} including waiting)`
      const size = `Image size: ${found.sizeBytes} bytes.`
      recordEvent('Normal', 'Pulled', `Successfully pulled image ${quote(written)} ${times}. ${size}`)
      return found
    } catch (error) {
      signal.throwIfAborted()
      const { reason, message } = explainPull(written, messageOf(error))
      recordEvent('Warning', 'Failed', `Failed to pull image ${quote(written)}: ${messageOf(error)}`)
      this.#backoff.failed(key, `${reason}: ${message}`, clock.monotonicMs())
      throw new ImageError(reason, message, { cause: error })
    }
  }

  async #pullRecorded(
    { written, image, reference }: Request,
    credentials: readonly PullCredential[],
    signal: AbortSignal,
  ): Promise<TimedPull> {
    const {
      runtime,
      platform: { clock },
    } = this.#options
    const present = await runtime.imageStatus(image, { signal })
    const isOurs = present !== undefined && (await this.#records.record(present.id)) !== undefined
    await this.#records.begin(written, isOurs ? undefined : present?.id)
    let hasSucceeded = false
    try {
      const beganMs = clock.monotonicMs()
      const pulled = await pullWith(runtime, { image, credentials, signal })
      const pullMs = clock.monotonicMs() - beganMs
      const { id: imageRef, credential } = pulled
      const repository = repositoryOf(reference)
      const now = formatTime(clock.now())
      const before = await this.#records.record(imageRef)
      const record = recordPull(before, { imageRef, repository, now, ...(credential && { credential }) })
      if (record !== undefined) await this.#records.write(record)
      hasSucceeded = true
      return { ...pulled, pullMs }
    } finally {
      await this.#records.finish(written, hasSucceeded)
    }
  }
}

/** Waiting reason in the container status. */
export type ImageErrorReason =
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'ErrImageNeverPull'
  | 'InvalidImageName'
  | 'ImageInspectError'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed'

export class ImageError extends Error {
  readonly reason: ImageErrorReason
  constructor(reason: ImageErrorReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ImageError'
    this.reason = reason
  }
}

function backoffKey({ pod, written }: Request): string {
  return `${pod.metadata.uid}_${written}`
}

function parse(written: string, recordEvent: RecordEvent): ImageReference {
  try {
    return parseImageReference(written)
  } catch (error) {
    if (!(error instanceof ImageReferenceError)) throw error
    const reason = `couldn't parse image name ${quote(written)}: ${error.message}`
    const text = `Failed to apply default image tag ${quote(written)}: ${reason}`
    recordEvent('Warning', 'InspectFailed', text)
    throw new ImageError('InvalidImageName', text, { cause: error })
  }
}

/** The name is not qualified with a registry: resolving it is up to the runtime. */
function withDefaultTag(written: string, { tag, digest }: ImageReference): string {
  return tag === undefined && digest === undefined ? `${written}:latest` : written
}

function policyOf({ imagePullPolicy }: ImageUser, { tag = 'latest', digest }: ImageReference): string {
  return imagePullPolicy ?? (tag === 'latest' && digest === undefined ? 'Always' : 'IfNotPresent')
}

/** Some runtimes prefix the message with a CRI error reason. */
function explainPull(image: string, message: string): Pick<ImageError, 'reason' | 'message'> {
  for (const [reason, what] of Object.entries(pullErrors)) {
    if (!message.startsWith(reason)) continue
    const rest = message.slice(reason.length)
    const known = reason as keyof typeof pullErrors
    return { reason: known, message: `image pull failed for ${image} because ${what}${rest}` }
  }
  return { reason: 'ErrImagePull', message }
}

const pullErrors = {
  RegistryUnavailable: 'the registry is unavailable',
  SignatureValidationFailed: 'the signature validation failed',
} as const

function whole(ms: number): string {
  return formatDurationMs(Math.trunc(ms))
}
