import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { Factory } from '../factory.ts'
import { itemsOf } from '../resource/find-resources.ts'
import { metadataText } from '../resource/info.ts'

/** Objects that are offered at most. */
const namesMax = 2_000

/** A server that does not respond in this time has no names. */
const timeoutMs = 5_000

interface NamespaceOption {
  /** Instead of that of the command. */
  readonly namespace?: string
}

/** Names of the objects of a type in the namespace of the command; empty if they cannot be listed. */
export async function objectNames(
  factory: Factory,
  type: string,
  { namespace }: NamespaceOption = {},
): Promise<readonly string[]> {
  return (await objectsOf(factory, type, namespace)).map(object => metadataText(object, 'name')).sort()
}

/** Names of the containers of a pod. */
export async function containerNames(factory: Factory, pod: string): Promise<readonly string[]> {
  const found = (await objectsOf(factory, 'pods')).find(object => metadataText(object, 'name') === pod)
  const spec = found?.['spec']
  if (!isObject(spec)) return []
  const lists = [spec['initContainers'], spec['containers'], spec['ephemeralContainers']]
  return lists
    .flatMap(list => (Array.isArray(list) ? list : []))
    .flatMap(container =>
      isObject(container) && typeof container['name'] === 'string' ? [container['name']] : [],
    )
}

async function objectsOf(factory: Factory, type: string, given?: string): Promise<readonly JsonObject[]> {
  try {
    const mapping = await (await factory.restMapper()).resourceFor(type)
    const namespace = given ?? (await factory.namespace()).namespace
    const resources = await factory.resources()
    const signal = AbortSignal.timeout(timeoutMs)
    return itemsOf(await resources.get({ mapping, namespace }, { limit: namesMax, signal }))
  } catch {
    return []
  }
}
