/**
 * The admission chain: mutating plugins, then validating plugins, each in order. A rejection ends the request
 * and nothing is stored.
 */
import { apiError, forbidden, type ApiError, type StatusCause } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { qualifiedResourceName, type Resource } from '#/api/resource.ts'
import type { AdmissionStep } from '../metrics/admission.ts'
import type { WriteRequest } from '../registry/write-request.ts'
import { StepTimer, type AdmissionMeasurement, type MeasuredStep } from './step-timer.ts'

/** A write with the objects that one admission phase sees. */
export interface AdmissionAttributes extends WriteRequest {
  readonly operation: Operation
  /**
   * The object to be stored, or the body posted to a subresource, such as a Binding. Undefined for DELETE.
   */
  readonly object: KubernetesObject | undefined
  /** The stored object; undefined for CREATE. */
  readonly oldObject: KubernetesObject | undefined
}

/** The attributes that plugins match on, independent of the object. */
export type AdmissionTarget = Pick<AdmissionAttributes, 'operation' | 'resource' | 'subresource'>

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

export interface AdmissionPlugin {
  readonly name: string
  /** Called once before the first write. Rejects with ConfigurationError when the server must not start. */
  start?(): Promise<void>
  /** Called once after the last write. */
  stop?(): void | Promise<void>
  /**
   * True if the plugin handles writes with these attributes. The result is cached per target, so it must not
   * depend on anything else. A plugin without this method handles every write.
   */
  handles?(target: AdmissionTarget): boolean
  /** Returns the object, changed or not. Throws ApiError to reject the request. */
  mutate?(request: AdmissionAttributes, reinvocation: Reinvocation): AdmittedObject | Promise<AdmittedObject>
  /** Throws ApiError to reject the request. */
  validate?(request: AdmissionAttributes): void | Promise<void>
}

export type AdmittedObject = KubernetesObject | undefined

/**
 * Reinvocation state of one request in the mutating phase. A plugin that changes the object can request a
 * second pass; there is at most one. Plugins keep per-request state in a WeakMap keyed by this object.
 */
export class Reinvocation {
  #isRequested = false
  #isSecond = false

  get isReinvocation(): boolean {
    return this.#isSecond
  }

  get isRequested(): boolean {
    return this.#isRequested
  }

  request(): void {
    this.#isRequested = true
  }

  beginReinvocation(): void {
    this.#isSecond = true
  }
}

export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[]
  readonly #measurement: AdmissionMeasurement | undefined
  /** Plugins that handle a write, by resource, then by operation and subresource. */
  readonly #chains = new WeakMap<Resource, Map<string, Chain>>()

  constructor(plugins: readonly AdmissionPlugin[], measurement?: AdmissionMeasurement) {
    this.#plugins = plugins
    this.#measurement = measurement
  }

  /** Rejects with ConfigurationError. */
  async start(): Promise<void> {
    for (const plugin of this.#plugins) await plugin.start?.()
  }

  async stop(): Promise<void> {
    for (const plugin of this.#plugins) await plugin.stop?.()
  }

  async mutate(request: AdmissionAttributes): Promise<AdmittedObject> {
    const { mutating } = this.#chain(request)
    if (mutating.plugins.length === 0) return request.object
    const timer = new StepTimer(mutating, this.#measurement?.clock, request.origin)
    const reinvocation = new Reinvocation()
    try {
      const object = await pass({ ...mutating, timer }, request, reinvocation)
      if (!reinvocation.isRequested) {
        timer.finish()
        return object
      }
      reinvocation.beginReinvocation()
      const again = await pass({ ...mutating, timer }, { ...request, object }, reinvocation)
      timer.finish()
      return again
    } catch (error) {
      timer.reject()
      throw error
    }
  }

  async validate(request: AdmissionAttributes): Promise<void> {
    const { validating } = this.#chain(request)
    if (validating.plugins.length === 0) return
    const timer = new StepTimer(validating, this.#measurement?.clock, request.origin)
    try {
      for (const [index, plugin] of validating.plugins.entries()) {
        timer.begin(index)
        const done = plugin.validate?.(request)
        if (done) await done
        timer.end()
      }
      timer.finish()
    } catch (error) {
      timer.reject()
      throw error
    }
  }

  #chain(request: AdmissionAttributes): Chain {
    const { resource, operation, subresource } = request
    let chains = this.#chains.get(resource)
    if (chains === undefined) this.#chains.set(resource, (chains = new Map()))
    const key = subresource === '' ? operation : `${operation}/${subresource}`
    const known = chains.get(key)
    if (known) return known
    const concerned = this.#plugins.filter(plugin => plugin.handles?.(request) ?? true)
    const chain = {
      mutating: this.#step(
        'admit',
        operation,
        concerned.filter(plugin => 'mutate' in plugin),
      ),
      validating: this.#step(
        'validate',
        operation,
        concerned.filter(plugin => 'validate' in plugin),
      ),
    }
    chains.set(key, chain)
    return chain
  }

  #step(type: AdmissionStep, operation: Operation, plugins: readonly AdmissionPlugin[]): MeasuredStep {
    const { metrics } = this.#measurement ?? {}
    if (metrics === undefined) return { type, plugins }
    return {
      type,
      plugins,
      series: metrics.step(type, operation),
      pluginSeries: plugins.map(({ name }) => metrics.controller(name, type, operation)),
    }
  }
}

interface Chain {
  readonly mutating: MeasuredStep
  readonly validating: MeasuredStep
}

/** For writes already admitted as part of another request, and for writes by the API server itself. */
export const noAdmission = new AdmissionChain([])

async function pass(
  { plugins, timer }: MeasuredStep & { readonly timer: StepTimer },
  request: AdmissionAttributes,
  reinvocation: Reinvocation,
): Promise<AdmittedObject> {
  let { object } = request
  for (const [index, plugin] of plugins.entries()) {
    timer.begin(index)
    const result = plugin.mutate?.(object === request.object ? request : { ...request, object }, reinvocation)
    object = result instanceof Promise ? await result : result
    timer.end()
  }
  return object
}

/** 403 Forbidden in the format of admission rejections. */
export function admissionForbidden(
  request: AdmissionAttributes,
  message: string,
  causes?: readonly StatusCause[],
): ApiError {
  const { resource, object } = request
  const name = request.name || object?.metadata.name || object?.metadata.generateName || 'Unknown'
  const error = forbidden({ group: resource.group, kind: resource.plural, name }, message)
  if (causes === undefined) return error
  return apiError('Forbidden', error.message, { ...error.status.details, causes })
}

/**
 * True if the write targets this resource (`pods`, `jobs.batch`) or one of the given subresources; `''` is
 * the resource itself.
 */
export function matchesResource(
  { resource, subresource }: AdmissionTarget,
  name: string,
  subresources: readonly string[] = [''],
): boolean {
  return qualifiedResourceName(resource) === name && subresources.includes(subresource)
}
