import type { JsonObject } from '#/api/text/json-object.ts'
import { isObject } from '#/api/text/json-object.ts'
import type { RestMapping } from '../discovery/rest-mapper.ts'
import type { ResourceLocation } from './resource-client.ts'

/** An object that a command works on: from a file, or named on the command line. */
export interface Info {
  readonly mapping: RestMapping
  /** Empty for cluster-scoped objects, and for all namespaces. */
  readonly namespace: string
  /** Empty for a collection and for `generateName`. */
  readonly name: string
  /** Absent until it is read from the server. */
  readonly object?: JsonObject
  /** File, URL or `STDIN` it comes from. */
  readonly source?: string
}

/** Where the object is at the server. */
export function locationOf(
  { mapping, namespace, name }: Pick<Info, 'mapping' | 'namespace' | 'name'>,
  subresource?: string,
): ResourceLocation {
  return {
    mapping,
    ...(namespace !== '' && { namespace }),
    ...(name !== '' && { name }),
    ...(subresource && { subresource }),
  }
}

/** Without a name the location would be the whole collection. */
export function requireObjectName({ name = '' }: { readonly name?: string | undefined }): void {
  if (name === '') throw new Error('resource name may not be empty')
}

/** `deployment.apps/web`, as messages name objects. */
export function objectName({ mapping, name }: Pick<Info, 'mapping' | 'name'>): string {
  const resource = mapping.group === '' ? mapping.kind : `${mapping.kind}.${mapping.group}`
  return `${resource.toLowerCase()}/${name}`
}

/** Empty if it is absent. */
export function kindText(object: JsonObject): string {
  const { kind } = object
  return typeof kind === 'string' ? kind : ''
}

/** Empty if it is absent. */
export function apiVersionText(object: JsonObject): string {
  const { apiVersion } = object
  return typeof apiVersion === 'string' ? apiVersion : ''
}

/** A text in the metadata of an object, empty if it is absent. */
export function metadataText(
  object: JsonObject,
  field: 'name' | 'namespace' | 'generateName' | 'resourceVersion' | 'uid',
): string {
  const { metadata } = object
  const value = isObject(metadata) ? metadata[field] : undefined
  return typeof value === 'string' ? value : ''
}
