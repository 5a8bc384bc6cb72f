/**
 * Admission: what may change a write, then what may refuse it. Plugins run in order; a refusal ends the
 * request and nothing is stored.
 */
import { apiError, forbidden, type ApiError, type StatusCause } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { UserInfo } from '../request.ts'

export interface AdmissionRequest extends AdmissionTarget {
  readonly namespace: string
  readonly name: string
  readonly user: UserInfo
  readonly dryRun: boolean
  /** As it would be stored, or what is posted to a subresource: a Binding, say. Undefined for a deletion. */
  readonly object: KubernetesObject | undefined
  /** What is stored now; undefined for a creation. */
  readonly before: KubernetesObject | undefined
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions as the client sent them. */
  readonly options: Readonly<Record<string, unknown>>
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
  warn(text: string): void
  /**
   * Adds to what the audit log says of the request. The first value of a key stays. What tells of the body is only
   * said where the log has the body too.
   */
  annotate(key: string, value: string, about?: 'request' | 'body'): void
}

/** What kind of write it is, whatever the object. */
export interface AdmissionTarget {
  readonly operation: Operation
  readonly resource: Resource
  readonly subresource: string
}

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

export interface AdmissionPlugin {
  readonly name: string
  /** Called once before the first write. Rejects with ConfigurationError when the server must not start. */
  start?(): Promise<void>
  /** Called once after the last write. */
  stop?(): void | Promise<void>
  /**
   * Whether such writes concern the plugin at all. Asked once for each kind of write and remembered, so it
   * must not depend on anything else. Every write when absent.
   */
  handles?(target: AdmissionTarget): boolean
  /** The object, changed or not. Throws ApiError to refuse. */
  mutate?(request: AdmissionRequest, reinvocation: Reinvocation): Admitted | Promise<Admitted>
  /** Throws ApiError to refuse. */
  validate?(request: AdmissionRequest): void | Promise<void>
}

export type Admitted = KubernetesObject | undefined

/**
 * One request's way through the plugins that change it. A plugin whose change others should see asks for a
 * second pass, of which there is at most one. What a plugin remembers of the first pass it keeps in a WeakMap
 * under this object.
 */
export class Reinvocation {
  #isWanted = false
  #isSecond = false

  /** Whether this is the second pass. */
  get isSecond(): boolean {
    return this.#isSecond
  }

  get isWanted(): boolean {
    return this.#isWanted
  }

  want(): void {
    this.#isWanted = true
  }

  beginSecond(): void {
    this.#isSecond = true
  }
}

export class Admission {
  readonly #plugins: readonly AdmissionPlugin[]
  /** Which plugins a write concerns, by resource, then by operation and subresource. */
  readonly #chains = new WeakMap<Resource, Map<string, Chain>>()

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins
  }

  /** Rejects with ConfigurationError. */
  async start(): Promise<void> {
    for (const plugin of this.#plugins) await plugin.start?.()
  }

  async stop(): Promise<void> {
    for (const plugin of this.#plugins) await plugin.stop?.()
  }

  async mutate(request: AdmissionRequest): Promise<Admitted> {
    const { mutating } = this.#chain(request)
    if (mutating.length === 0) return request.object
    const reinvocation = new Reinvocation()
    const object = await pass(mutating, request, reinvocation)
    if (!reinvocation.isWanted) return object
    reinvocation.beginSecond()
    return pass(mutating, { ...request, object }, reinvocation)
  }

  async validate(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#chain(request).validating) {
      const done = plugin.validate?.(request)
      if (done) await done
    }
  }

  #chain(request: AdmissionRequest): Chain {
    const { resource, operation, subresource } = request
    let chains = this.#chains.get(resource)
    if (chains === undefined) this.#chains.set(resource, (chains = new Map()))
    const key = subresource === '' ? operation : `${operation}/${subresource}`
    const known = chains.get(key)
    if (known) return known
    const concerned = this.#plugins.filter(plugin => plugin.handles?.(request) ?? true)
    const chain = {
      mutating: concerned.filter(plugin => 'mutate' in plugin),
      validating: concerned.filter(plugin => 'validate' in plugin),
    }
    chains.set(key, chain)
    return chain
  }
}

interface Chain {
  readonly mutating: readonly AdmissionPlugin[]
  readonly validating: readonly AdmissionPlugin[]
}

/** For writes that were admitted already as part of another, and for those of the server itself. */
export const everythingAdmitted = new Admission([])

async function pass(
  plugins: readonly AdmissionPlugin[],
  request: AdmissionRequest,
  reinvocation: Reinvocation,
): Promise<Admitted> {
  let { object } = request
  for (const plugin of plugins) {
    const result = plugin.mutate?.(object === request.object ? request : { ...request, object }, reinvocation)
    object = result instanceof Promise ? await result : result
  }
  return object
}

/** The plugin refuses the write: 403, in the words of admission. */
export function refused(
  request: AdmissionRequest,
  message: string,
  causes?: readonly StatusCause[],
): ApiError {
  const { resource, object } = request
  const name = request.name || object?.metadata?.name || object?.metadata?.generateName || 'Unknown'
  const error = forbidden({ group: resource.group, kind: resource.plural, name }, message)
  if (causes === undefined) return error
  return apiError('Forbidden', error.message, { ...error.status.details, causes })
}

/** Whether a write is about this resource, `pods` or `jobs.batch`, itself or one of these subresources. */
export function isAbout(
  { resource, subresource }: AdmissionTarget,
  name: string,
  subresources: readonly string[] = [''],
): boolean {
  const { group, plural } = resource
  return (group === '' ? plural : `${plural}.${group}`) === name && subresources.includes(subresource)
}
