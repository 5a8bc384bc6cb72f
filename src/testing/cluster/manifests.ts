import { parseGroupVersion } from '#/api/group-version.ts'
import type { JsonObject } from '#/api/apply.ts'
import { objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import type { Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import { readYamlDocuments } from '#/api/text/yaml.ts'

/** An object, several objects, or YAML with one or more documents. */
export type Manifests = string | object | readonly object[]

export interface Manifest {
  readonly resource: Resource
  readonly object: KubernetesObject
}

/** Resolves the resource of each object. Namespaced objects without a namespace are in `default`. */
export function readManifests(manifests: Manifests, scheme: Scheme): readonly Manifest[] {
  const objects: readonly unknown[] =
    typeof manifests === 'string'
      ? [...readYamlDocuments(manifests)].map(({ value }) => value)
      : Array.isArray(manifests)
        ? manifests
        : [manifests]
  return objects.flatMap(itemsOf).map(object => manifestOf(object, scheme))
}

/** Flattens lists. */
function itemsOf(object: unknown): readonly unknown[] {
  if (!isRecord(object)) return [object]
  const { kind, items } = object
  return typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items) ? items : [object]
}

function manifestOf(object: unknown, scheme: Scheme): Manifest {
  if (!isRecord(object)) throw new TypeError('a manifest must be an object')
  const { apiVersion, kind } = object
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    throw new TypeError(`a manifest must have apiVersion and kind: ${JSON.stringify(object).slice(0, 80)}`)
  }
  const groupVersion = parseGroupVersion(apiVersion)
  const resource = groupVersion && scheme.byKind({ ...groupVersion, kind })
  if (resource === undefined)
    throw new TypeError(`no matches for kind ${quote(kind)} in version ${quote(apiVersion)}`)
  const manifest = objectOf(object as JsonObject)
  if (resource.scope === 'Cluster') return { resource, object: manifest }
  return { resource, object: { ...manifest, metadata: { namespace: 'default', ...manifest.metadata } } }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
