import { isUtf8 } from 'node:buffer'
import { put, type JsonObject } from '#/api/text/json-object.ts'
import { compareText } from '../documents/value.ts'
import { KustomizeError } from '../kustomize-error.ts'
import type { GeneratorArguments, GeneratorOptions } from '../load/kustomization.ts'
import type { Loader } from '../load/loader.ts'
import { Resource, type Behavior } from '../resources/resource.ts'
import { readKeyValues } from './key-values.ts'

/** Makes a ConfigMap or a Secret from literals and files. */
export async function generate(
  kind: 'ConfigMap' | 'Secret',
  options: GeneratorArguments,
  loader: Loader,
): Promise<Resource> {
  const { name = '', namespace = '', type = '' } = options
  if (name === '') throw new KustomizeError('a configmap must have a name')
  const values = await readKeyValues(options, loader)
  const metadata: JsonObject = { name, ...(namespace !== '' && { namespace }) }
  const object: JsonObject = {
    apiVersion: 'v1',
    kind,
    metadata,
    ...(kind === 'Secret' && { type: type || 'Opaque' }),
    ...(kind === 'Secret' ? { data: secretData(values) } : configMapData(values)),
  }
  const { labels = {}, annotations = {}, immutable, disableNameSuffixHash } = options.options ?? {}
  if (Object.keys(labels).length > 0) metadata['labels'] = { ...labels }
  if (Object.keys(annotations).length > 0) metadata['annotations'] = { ...annotations }
  if (immutable) object['immutable'] = true
  const resource = new Resource(object)
  resource.behavior = behaviorOf(options.behavior)
  resource.needsHash = disableNameSuffixHash !== true
  return resource
}

/** The options of one generator, which take precedence, with those of the kustomization. */
export function mergeOptions(
  own: GeneratorOptions | undefined,
  common: GeneratorOptions | undefined,
): GeneratorOptions {
  return {
    labels: { ...common?.labels, ...own?.labels },
    annotations: { ...common?.annotations, ...own?.annotations },
    disableNameSuffixHash: own?.disableNameSuffixHash === true || common?.disableNameSuffixHash === true,
    immutable: own?.immutable === true || common?.immutable === true,
  }
}

function behaviorOf(text = ''): Behavior {
  return text === 'create' || text === 'replace' || text === 'merge' ? text : 'unspecified'
}

/** A value that is no text is encoded. */
function configMapData(values: ReadonlyMap<string, Uint8Array>): JsonObject {
  const [data, binaryData]: [JsonObject, JsonObject] = [{}, {}]
  for (const [key, value] of byKey(values)) {
    if (isUtf8(value)) put(data, key, Buffer.from(value).toString('utf8'))
    else put(binaryData, key, toBase64(value))
  }
  const has = (map: JsonObject) => Object.keys(map).length > 0
  return { ...(has(data) && { data }), ...(has(binaryData) && { binaryData }) }
}

function secretData(values: ReadonlyMap<string, Uint8Array>): JsonObject {
  const data: JsonObject = {}
  for (const [key, value] of byKey(values)) put(data, key, toBase64(value))
  return data
}

function byKey(values: ReadonlyMap<string, Uint8Array>): [string, Uint8Array][] {
  return [...values].sort(([left], [right]) => compareText(left, right))
}

const lineCharacters = 70

/** In lines, each with a line break, if one line is not enough. */
function toBase64(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('base64')
  return text.length < lineCharacters ? text : text.replaceAll(/.{1,70}/g, '$&\n')
}
