import { messageOf } from '#/base/message-of.ts'
import { isApiError } from '#/api/errors.ts'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { quantityMilliValue, tryParseQuantity } from '#/api/text/quantity.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Client } from '#/client/client.ts'
import type { RestMapper } from './rest-mapper.ts'
import type {
  ExternalQuery,
  Metrics,
  ObjectQuery,
  PodSamples,
  PodsQuery,
  ResourceQuery,
  Sample,
} from './metrics.ts'

/**
 * Metrics from the aggregated metrics APIs, served by metrics-server or a metrics adapter.
 * https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#support-for-metrics-apis
 */
export class ApiMetrics implements Metrics {
  readonly #client: Client
  readonly #kinds: RestMapper
  /** Cached version of the custom metrics API; reset after any failure. */
  #customVersion: string | undefined

  constructor(client: Client, kinds: RestMapper) {
    this.#client = client
    this.#kinds = kinds
  }

  async resource({ namespace, selector, resource, container, signal }: ResourceQuery): Promise<PodSamples> {
    const { items = [] }: ListOf<PodMetrics> = await this.#get('resource', {
      path: ['metrics.k8s.io', 'v1beta1', 'namespaces', namespace, 'pods'],
      query: { labelSelector: selector.toString() },
      what: 'pods.metrics.k8s.io',
      signal,
    })
    if (items.length === 0) throw new Error('no metrics returned from resource metrics API')
    const samples = new Map<string, Sample>()
    for (const { metadata, timestamp = '', window = '', containers = [] } of items) {
      const counted = containers.filter(({ name }) => container === undefined || name === container)
      const values = counted.map(({ usage }) => milliValueOf(usage?.[resource]))
      // A pod with a missing container value is treated as having no sample.
      if (values.length === 0 || !values.every(value => value !== undefined)) continue
      samples.set(metadata?.name ?? '', {
        milliValue: values.reduce((sum, value) => sum + value, 0n),
        atMs: parseTime(timestamp) ?? -Infinity,
        windowMs: tryParseDurationMs(window) ?? 0,
      })
    }
    return samples
  }

  async pods({ namespace, selector, metric, metricSelector, signal }: PodsQuery): Promise<PodSamples> {
    const items = await this.#custom({
      path: ['namespaces', namespace, 'pods', '*', metric],
      query: { labelSelector: selector.toString(), metricLabelSelector: metricSelector.toString() },
      what: 'pods.custom.metrics.k8s.io *',
      signal,
    })
    if (items.length === 0) throw new Error('no metrics returned from custom metrics API')
    const samples = new Map<string, Sample>()
    for (const { describedObject, timestamp = '', windowSeconds, window, value } of items) {
      const milliValue = milliValueOf(value)
      if (milliValue === undefined) continue
      samples.set(describedObject?.name ?? '', {
        milliValue,
        atMs: parseTime(timestamp) ?? -Infinity,
        windowMs: (windowSeconds ?? window ?? windowSecondsUsual) * 1_000,
      })
    }
    return samples
  }

  async object({ namespace, object, metric, metricSelector, signal }: ObjectQuery): Promise<bigint> {
    const { apiVersion = '', kind, name } = object
    const group = parseGroupVersion(apiVersion)?.group ?? ''
    const resource = await this.#resourceNameOf({ group, kind }, signal)
    // Metrics of a namespace always refer to the autoscaler's namespace.
    const isNamespace = group === '' && kind === 'Namespace'
    const items = await this.#custom({
      path: ['namespaces', namespace, ...(isNamespace ? ['metrics'] : [resource, name]), metric],
      query: { metricLabelSelector: metricSelector.toString() },
      what: isNamespace
        ? `metrics.custom.metrics.k8s.io ${metric}`
        : `${resource}.custom.metrics.k8s.io ${name}`,
      signal,
    })
    const value = milliValueOf(items[0]?.value)
    if (items.length !== 1 || value === undefined) {
      const found = `returned ${items.length} results when we asked for exactly one`
      throw new Error(`${unfetched('custom')}: the custom metrics API server ${found}`)
    }
    return value
  }

  async external({ namespace, metric, metricSelector, signal }: ExternalQuery): Promise<readonly bigint[]> {
    const { items = [] }: ListOf<MetricValue> = await this.#get('external', {
      path: ['external.metrics.k8s.io', 'v1beta1', 'namespaces', namespace, metric],
      query: { labelSelector: metricSelector.toString() },
      what: `${metric}.external.metrics.k8s.io`,
      signal,
    })
    const values = items.map(({ value }) => milliValueOf(value)).filter(value => value !== undefined)
    if (values.length === 0) throw new Error('no metrics returned from external metrics API')
    return values
  }

  /** The resource name in custom metrics paths: `pods`, `ingresses.networking.k8s.io`. */
  async #resourceNameOf(
    of: { readonly group: string; readonly kind: string },
    signal: AbortSignal,
  ): Promise<string> {
    const withGroup = (name: string): string => (of.group === '' ? name : `${name}.${of.group}`)
    try {
      return withGroup((await this.#kinds.find(of, signal)).plural)
    } catch (error) {
      const text = `unable to map kind ${withGroup(of.kind)} to resource: ${messageOf(error)}`
      throw new Error(`${unfetched('custom')}: ${text}`, { cause: error })
    }
  }

  async #custom(request: Request): Promise<readonly MetricValue[]> {
    try {
      this.#customVersion ??= await this.#preferredCustomVersion(request.signal)
      const path = [customGroup, this.#customVersion, ...request.path]
      const { items = [] }: ListOf<MetricValue> = await this.#get('custom', { ...request, path })
      return items
    } catch (error) {
      this.#customVersion = undefined
      throw error
    }
  }

  /** The preferred version of the server among the supported ones. */
  async #preferredCustomVersion(signal: AbortSignal): Promise<string> {
    let served: ApiGroup
    try {
      const response = await this.#client.raw({ method: 'GET', path: `/apis/${customGroup}`, signal })
      served = (await response.value()) ?? {}
    } catch (error) {
      const isAbsent = isApiError(error, 'NotFound')
      const text = isAbsent ? `no custom metrics API (${customGroup}) registered` : messageOf(error)
      throw new Error(`${unfetched('custom')}: ${text}`, { cause: error })
    }
    const versions = [served.preferredVersion, ...(served.versions ?? [])].map(each => each?.version ?? '')
    const version = versions.find(each => customVersions.has(each))
    if (version === undefined)
      throw new Error(`${unfetched('custom')}: no known available metric versions found`)
    return version
  }

  async #get(api: Api, { path, query, what, signal }: Request): Promise<object> {
    const given = Object.entries(query).filter(([, value]) => value !== '')
    try {
      const response = await this.#client.raw({
        method: 'GET',
        path: `/apis/${path.map(encodeURIComponent).join('/')}`,
        query: new URLSearchParams(given),
        signal,
      })
      return (await response.value()) ?? {}
    } catch (error) {
      throw new Error(`${unfetched(api)}: ${refusal(error, what)}`, { cause: error })
    }
  }
}

type Api = 'resource' | 'custom' | 'external'

interface Request {
  /** After the version for custom metrics, after `/apis` for the others. */
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
  /** Name of the requested resource in error messages. */
  readonly what: string
  readonly signal: AbortSignal
}

interface ListOf<Item> {
  readonly items?: readonly Item[]
}

interface ApiGroup {
  readonly preferredVersion?: { readonly version?: string }
  readonly versions?: readonly { readonly version?: string }[]
}

interface PodMetrics {
  readonly metadata?: { readonly name?: string }
  readonly timestamp?: string
  readonly window?: string
  readonly containers?: readonly {
    readonly name?: string
    readonly usage?: Readonly<Record<string, string>>
  }[]
}

interface MetricValue {
  readonly describedObject?: { readonly name?: string }
  readonly timestamp?: string
  /** In v1beta2; v1beta1 has `window`. */
  readonly windowSeconds?: number
  readonly window?: number
  readonly value?: string
}

const customGroup = 'custom.metrics.k8s.io'
const customVersions: ReadonlySet<string> = new Set(['v1beta2', 'v1beta1'])

/** Default if the response has no window. */
const windowSecondsUsual = 60

function unfetched(api: Api): string {
  return `unable to fetch metrics from ${api} metrics API`
}

/**
 * The error message of Kubernetes clients, which name the requested resource if the server's response has no
 * details.
 */
function refusal(error: unknown, what: string): string {
  if (isApiError(error, 'NotFound') && error.status.details === undefined) {
    return `the server could not find the requested resource (get ${what})`
  }
  if (isApiError(error, 'ServiceUnavailable')) {
    return `the server is currently unable to handle the request (get ${what})`
  }
  return messageOf(error)
}

function milliValueOf(text: string | undefined): bigint | undefined {
  const quantity = text === undefined ? undefined : tryParseQuantity(text)
  return quantity && quantityMilliValue(quantity)
}
