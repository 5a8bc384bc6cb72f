import { isApiError } from '#/api/errors.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { ContextError } from '../errors.ts'
import type { Factory } from '../factory.ts'
import { locationOf, requireObjectName, type Info } from '../resource/info.ts'

/** Objects that are read while earlier ones are written. */
const aheadMax = 8

/**
 * Reads the live objects of manifests, some ahead of the object that is applied, so that reads and writes overlap. An
 * object that occurs again is read after it was written.
 */
export class ReadAhead {
  readonly #factory: Factory
  readonly #infos: readonly Info[]
  readonly #reads = new Map<Info, Promise<JsonObject | undefined>>()
  readonly #started = new Set<string>()
  #position = 0

  constructor(factory: Factory, infos: readonly Info[]) {
    this.#factory = factory
    this.#infos = infos
  }

  /** The live object of the next manifest; undefined if it does not exist. */
  async current(info: Info): Promise<JsonObject | undefined> {
    const end = Math.min(this.#infos.length, this.#infos.indexOf(info) + 1 + aheadMax)
    for (; this.#position < end; this.#position++) this.#start(this.#infos[this.#position]!)
    const read = this.#reads.get(info) ?? this.#read(info)
    this.#reads.delete(info)
    return read
  }

  #start(info: Info): void {
    const { mapping, namespace, name } = info
    const key = `${mapping.plural}.${mapping.group}/${namespace}/${name}`
    if (this.#started.has(key)) return
    this.#started.add(key)
    const read = this.#read(info)
    // It is reported when it is the turn of the object.
    read.catch(() => undefined)
    this.#reads.set(info, read)
  }

  async #read(info: Info): Promise<JsonObject | undefined> {
    const resources = await this.#factory.resources()
    try {
      requireObjectName(info)
      return await resources.get(locationOf(info))
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined
      const source = JSON.stringify(info.source ?? '')
      const context = `error when retrieving current configuration of:\n${describeLocation(info)}\nfrom server for:`
      throw new ContextError(`${context} ${source}`, error)
    }
  }
}

/** As messages describe an object at the server. */
export function describeLocation({ mapping, name, namespace }: Info): string {
  const { group, version, plural, kind } = mapping
  const groupVersion = `${group}/${version}`
  return (
    `Resource: "${groupVersion}, Resource=${plural}", GroupVersionKind: "${groupVersion}, Kind=${kind}"\n` +
    `Name: ${JSON.stringify(name)}, Namespace: ${JSON.stringify(namespace)}`
  )
}
