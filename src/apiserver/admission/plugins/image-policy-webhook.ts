/**
 * An external webhook backend decides which images may run. Its verdicts are cached; `defaultAllow` decides
 * when it cannot be reached.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#imagepolicywebhook
 */
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { admissionForbidden, type AdmissionPlugin, type AdmissionAttributes } from '../admission-chain.ts'
import { ImagePolicyBackend } from './image-policy-webhook/backend.ts'
import { readImagePolicy, type ImagePolicy } from './image-policy-webhook/configuration.ts'
import { ConfigurationError, type PluginContext } from '../plugin-context.ts'
import { podWrites, specOf } from './pod-spec.ts'

export function imagePolicyWebhook(
  { platform, connectHttp }: PluginContext,
  configuration?: JsonValue,
): AdmissionPlugin {
  if (configuration === undefined) {
    throw new ConfigurationError('no config specified for ImagePolicyWebhook')
  }
  if (connectHttp === undefined) {
    throw new ConfigurationError('ImagePolicyWebhook is not supported: outgoing HTTP is not configured')
  }
  const { clock } = platform
  const policy = readImagePolicy(configuration)
  const { kubeConfigFile } = policy
  return new ImagePolicyAdmission({
    policy,
    clock,
    backend: new ImagePolicyBackend({ platform, connectHttp, kubeConfigFile }),
  })
}

interface Options {
  readonly policy: ImagePolicy
  readonly backend: ImagePolicyBackend
  readonly clock: PluginContext['platform']['clock']
}

class ImagePolicyAdmission implements AdmissionPlugin {
  readonly name = 'ImagePolicyWebhook'
  readonly handles = podWrites(['CREATE', 'UPDATE'], ['', 'ephemeralcontainers'])
  readonly #options: Options
  /** Cached verdicts by serialized ImageReview spec, oldest first. */
  readonly #statuses = new Map<string, { readonly status: ImageReviewStatus; readonly untilMs: number }>()

  constructor(options: Options) {
    this.#options = options
  }

  async start(): Promise<void> {
    try {
      await this.#options.backend.open()
    } catch (error) {
      const reason = error instanceof Error ? error.message : ''
      throw new ConfigurationError(`ImagePolicyWebhook: invalid kubeConfigFile: ${reason}`, {
        cause: error,
      })
    }
  }

  async stop(): Promise<void> {
    await this.#options.backend.close()
  }

  async validate(request: AdmissionAttributes): Promise<void> {
    const status = await this.#review(request)
    for (const [key, value] of status.auditAnnotations)
      request.addAuditAnnotation(`${annotationPrefix}${key}`, value)
    if (status.allowed) return
    throw admissionForbidden(
      request,
      status.reason === ''
        ? 'one or more images rejected by webhook backend'
        : `image policy webhook backend denied one or more images: ${status.reason}`,
    )
  }

  async #review(request: AdmissionAttributes): Promise<ImageReviewStatus> {
    const { policy, clock } = this.#options
    const spec = questionOf(request)
    const key = JSON.stringify(spec)
    const known = this.#statuses.get(key)
    if (known && known.untilMs > clock.monotonicMs()) return known.status
    let status: ImageReviewStatus
    try {
      status = await this.#ask({ apiVersion: 'imagepolicy.k8s.io/v1alpha1', kind: 'ImageReview', spec })
    } catch (error) {
      if (!policy.defaultAllow) {
        throw admissionForbidden(
          request,
          error instanceof Error ? error.message : 'image policy webhook backend is unavailable',
        )
      }
      return { allowed: true, reason: '', auditAnnotations: new Map([['failed-open', 'true']]) }
    }
    this.#keep(key, status)
    return status
  }

  async #ask(review: JsonValue): Promise<ImageReviewStatus> {
    const { policy, backend, clock } = this.#options
    for (let attempt = 1; ; attempt++) {
      try {
        return readImageReviewStatus(await backend.review(review))
      } catch (error) {
        if (attempt === attemptsMax) throw error
        await clock.sleep(policy.retryBackoffMs * backoffFactor ** (attempt - 1))
      }
    }
  }

  #keep(key: string, status: ImageReviewStatus): void {
    const { policy, clock } = this.#options
    const lifeMs = status.allowed ? policy.allowMs : policy.denyMs
    if (lifeMs === 0) return
    this.#statuses.delete(key)
    this.#statuses.set(key, { status, untilMs: clock.monotonicMs() + lifeMs })
    if (this.#statuses.size > statusesMax) this.#statuses.delete(this.#statuses.keys().next().value!)
  }
}

const annotationPrefix = 'imagepolicywebhook.image-policy.k8s.io/'

/** Maximum number of cached verdicts; past it the oldest is evicted. */
const statusesMax = 1_024

const attemptsMax = 5
const backoffFactor = 1.5

/** The ImageReview spec: the images, the `*.image-policy.k8s.io/` annotations and the namespace. */
function questionOf({ object, subresource, namespace }: AdmissionAttributes): {
  readonly [key: string]: JsonValue
} {
  const pod = object as Pod
  const { containers, initContainers = [], ephemeralContainers = [] } = specOf(pod)
  const asked: readonly Container[] =
    subresource === '' ? [...containers, ...initContainers] : ephemeralContainers
  const annotations = Object.entries(pod.metadata.annotations ?? {}).filter(([key]) =>
    key.includes('.image-policy.k8s.io/'),
  )
  return {
    containers: asked.map(({ image }) => ({ image: image ?? '' })),
    annotations: Object.fromEntries(annotations),
    namespace,
  }
}

interface ImageReviewStatus {
  readonly allowed: boolean
  readonly reason: string
  readonly auditAnnotations: ReadonlyMap<string, string>
}

/** Parses an ImageReview response. Throws if it is malformed. */
function readImageReviewStatus(review: JsonValue): ImageReviewStatus {
  const status = memberOf(review, 'status')
  const allowed = memberOf(status, 'allowed') ?? false
  const reason = memberOf(status, 'reason') ?? ''
  const annotations = memberOf(status, 'auditAnnotations') ?? {}
  if (
    typeof status !== 'object' ||
    typeof allowed !== 'boolean' ||
    typeof reason !== 'string' ||
    typeof annotations !== 'object'
  ) {
    throw new Error('image policy webhook backend returned an invalid ImageReview')
  }
  const texts = Object.entries(annotations ?? {}).map(
    ([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)] as const,
  )
  return { allowed, reason, auditAnnotations: new Map(texts.slice(0, annotationsMax)) }
}

/** Maximum number of audit annotations taken from one response. */
const annotationsMax = 100

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, name) ? value[name] : undefined
}
