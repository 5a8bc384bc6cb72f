import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { parseQuantity, quantityMilliValue, quantityValue, zeroQuantity } from '#/api/text/quantity.ts'
import { quote } from '#/api/text/quote.ts'
import type { Factory } from '../factory.ts'
import { metadataMap } from '../metadata/metadata-changes.ts'
import { metadataText } from '../resource/info.ts'
import { objectOf, textOf } from './pod-spec.ts'

/** What a reference is resolved against. */
export interface ReferenceContext {
  readonly object: JsonObject
  readonly container: JsonObject
  readonly namespace: string
}

/** Reads the values that environment variables refer to. Each ConfigMap and Secret is read once. */
export class EnvironmentResolver {
  readonly #factory: Factory
  readonly #read = new Map<string, Promise<JsonObject>>()

  constructor(factory: Factory) {
    this.#factory = factory
  }

  async resolve(valueFrom: JsonObject, context: ReferenceContext): Promise<string> {
    const { secretKeyRef, configMapKeyRef, fieldRef, resourceFieldRef } = valueFrom
    if (isObject(secretKeyRef)) {
      const encoded = await this.#keyOf('secret', secretKeyRef, context.namespace)
      return Buffer.from(encoded, 'base64').toString()
    }
    if (isObject(configMapKeyRef)) return this.#keyOf('configmap', configMapKeyRef, context.namespace)
    if (isObject(fieldRef)) return fieldText(context.object, textOf(fieldRef['fieldPath']))
    if (isObject(resourceFieldRef)) return resourceText(context.container, resourceFieldRef)
    throw new Error('invalid valueFrom')
  }

  async #keyOf(type: 'secret' | 'configmap', reference: JsonObject, namespace: string): Promise<string> {
    const name = textOf(reference['name'])
    const key = textOf(reference['key'])
    const object = await this.#read.getOrInsertComputed(`${type}/${name}`, async () => {
      const [mapper, resources] = await Promise.all([this.#factory.restMapper(), this.#factory.resources()])
      return resources.get({ mapping: await mapper.resourceFor(`${type}s`), namespace, name })
    })
    const value = objectOf(object['data'])[key]
    if (typeof value === 'string') return value
    throw new Error(`key ${key} not found in ${type === 'secret' ? 'secret' : 'config map'} ${name}`)
  }
}

/** The fields that the downward API offers for variables. */
function fieldText(object: JsonObject, path: string): string {
  const [, map, key] = /^metadata\.(labels|annotations)(?:\['(.*)'\])?$/s.exec(path) ?? []
  if (map === 'labels' || map === 'annotations') {
    const values = metadataMap(object, map)
    if (key !== undefined) return values[key] ?? ''
    return Object.keys(values)
      .sort()
      .map(each => `${each}=${quote(values[each]!)}`)
      .join('\n')
  }
  if (path.endsWith("']")) {
    throw new Error(`fieldPath ${quote(path)} does not support subscript`)
  }
  const field = path.replace(/^metadata\./, '')
  if (field === 'name' || field === 'namespace' || field === 'uid') return metadataText(object, field)
  throw new Error(`unsupported fieldPath: ${path}`)
}

function resourceText(container: JsonObject, reference: JsonObject): string {
  const resource = textOf(reference['resource'])
  const [, list = '', name = ''] = /^(limits|requests)\.(.+)$/.exec(resource) ?? []
  if (!/^(?:cpu|memory|ephemeral-storage|hugepages-.+)$/.test(name)) {
    throw new Error(`Unsupported container resource : ${resource}`)
  }
  const given = textOf(objectOf(objectOf(container['resources'])[list])[name])
  const quantity = given === '' ? zeroQuantity : parseQuantity(given)
  const divisorText = textOf(reference['divisor'])
  const divisor = parseQuantity(divisorText === '' || divisorText === '0' ? '1' : divisorText)
  const valueOf = name === 'cpu' ? quantityMilliValue : quantityValue
  const [amount, unit] = [valueOf(quantity), valueOf(divisor)]
  return String((amount + unit - 1n) / unit)
}
