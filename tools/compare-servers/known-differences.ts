/**
 * Differences that are deliberate: the comparison does not count them. docs/differences.md lists exactly these ids,
 * with the reasons. Each matcher is as narrow as the difference, so that another one of the same answer counts.
 */
import type { Difference } from '../compare-api/compare-values.ts'
import { knownDifferences as knownOfDocuments } from '../compare-api/known-differences.ts'
import type { ClassifiedDifference } from './answers/difference-class.ts'

export interface KnownDifference {
  /** As in docs/differences.md. */
  readonly id: string
  readonly matches: (difference: ClassifiedDifference, context: KnownContext) => boolean
}

export interface KnownContext {
  /** The path of the request, with its query. */
  readonly path: string
  readonly method: string
  /** The body of our answer. */
  readonly body: unknown
}

export const knownDifferences: readonly KnownDifference[] = [
  {
    id: 'openapi-methods',
    matches: ({ ours }, { path, method }) =>
      path.startsWith('/openapi/') && !['GET', 'HEAD'].includes(method) && String(ours).startsWith('405'),
  },
  {
    id: 'openapi-v3-json',
    matches: ({ place, ours, theirs }, { path }) =>
      path === '/openapi/v3' &&
      (place === 'headers/content-type' ? ours === 'application/json' : isSameIndex(ours, theirs)),
  },
  {
    id: 'openapi-descriptions',
    matches: (difference, { path, body }) =>
      /^\/openapi\/v[23]/.test(path) &&
      (isKnownOfDocuments(difference, body) || isOfMessage(difference, path)),
  },
  {
    id: 'metrics-api',
    matches: ({ place, ours, theirs }, { path }) =>
      place === '/groups' && /^\/apis\/?$/.test(path) && isSameWithout(ours, theirs, 'metrics.k8s.io'),
  },
  {
    id: 'health-checks',
    matches: ({ place, ours, theirs }, { path }) =>
      (place === '' &&
        /^\/(?:healthz|livez|readyz)\?(?:.*&)?verbose/.test(path) &&
        isSameHealth(String(ours), String(theirs))) ||
      (place === '/paths' && /^\/(?:index\.html)?$/.test(path) && arePathsOfSameHealth(ours, theirs)),
  },
  {
    id: 'job-success-policy',
    matches: ({ place, ours, theirs }, { path }) =>
      place === 'status' &&
      /\/apis\/batch\/v1\/namespaces\/[^/]+\/jobs\b/.test(path) &&
      String(ours).startsWith('422 Invalid') &&
      String(ours).includes('spec.completions: Required value') &&
      theirs === '0',
  },
  {
    id: 'selectable-fields-panic',
    matches: ({ place, ours, theirs }, { path }) =>
      place === 'status' &&
      definitionsPath.test(path) &&
      String(ours).startsWith('422 Invalid') &&
      theirs === '0',
  },
  {
    id: 'custom-resource-protobuf',
    matches: ({ place, ours, theirs }, { path }) =>
      place === 'status' &&
      /^\/apis\/(?!.*\.k8s\.io\/)[^/]+\.[^/]+\//.test(path) &&
      String(ours).startsWith('400 BadRequest: the object provided is unrecognized') &&
      theirs === '0',
  },
  {
    id: 'strategic-patch-errors',
    matches: ({ place, ours, theirs }, { method }) =>
      place === 'status' &&
      method === 'PATCH' &&
      strategicPatchErrors.some(text => String(ours).startsWith(`422 Invalid: ${text}`)) &&
      /^500 : (?:list element types are not identical|map: .* does not contain declared merge key)/.test(
        String(theirs),
      ),
  },
  {
    id: 'aggregated-roles',
    matches: ({ place, theirs }, { path }) =>
      /\/clusterroles\b/.test(path) && /\/(?:rules|f:rules)$/.test(place) && (theirs ?? null) === null,
  },
  {
    id: 'schema-default-order',
    matches: ({ place, ours, theirs }, { path }) =>
      place === '/details/causes (order)' &&
      definitionsPath.test(path) &&
      String(ours).includes('.default ') &&
      isReordered(ours, theirs),
  },
]

const strategicPatchErrors = ['map: ', 'expected a map in a merged list']

/** The same causes in another order. */
function isReordered(ours: unknown, theirs: unknown): boolean {
  const sorted = (causes: unknown): string => String(causes).split(', ').sort().join()
  return sorted(ours) === sorted(theirs)
}

const definitionsPath = /^\/apis\/apiextensions\.k8s\.io\/v1\/customresourcedefinitions\b/

/** Texts are part of the message, so that only its beginning can be compared. */
function isOfMessage({ place, ours, theirs }: Difference, path: string): boolean {
  return place === '' && path === '/openapi/v2' && [ours, theirs].every(isOpenApiMessage)
}

/** A protobuf document of OpenAPI 2.0. */
function isOpenApiMessage(text: unknown): boolean {
  return typeof text === 'string' && text.startsWith('\n\u00032.0')
}

/** The id of the deliberate difference. */
export function knownDifferenceOf(
  difference: ClassifiedDifference,
  context: KnownContext,
): string | undefined {
  return knownDifferences.find(({ matches }) => matches(difference, context))?.id
}

/** The descriptions of the types of a document; one set per answer. */
const textsOfBodies = new WeakMap<object, ReadonlySet<unknown>>()

function isKnownOfDocuments(difference: Difference, body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  const texts = textsOfBodies.getOrInsertComputed(body, () => new Set(descriptionsOf(body)))
  return knownOfDocuments.some(({ matches }) => matches(difference, texts))
}

interface OpenApi {
  readonly definitions?: Readonly<Record<string, { readonly description?: string }>>
  readonly components?: { readonly schemas?: OpenApi['definitions'] }
}

function descriptionsOf({ definitions, components }: OpenApi): readonly unknown[] {
  return Object.values(definitions ?? components?.schemas ?? {}).map(({ description }) => description)
}

/** The same JSON, which only one of the servers declares as such. Only ours has the group of metrics. */
function isSameIndex(ours: unknown, theirs: unknown): boolean {
  if (typeof theirs !== 'string' || !theirs.startsWith('{')) return false
  const pathsOf = (document: unknown): string => {
    const { paths = {} } = document as { readonly paths?: Readonly<Record<string, unknown>> }
    const entries = Object.entries(paths).filter(([path]) => !path.includes('metrics.k8s.io'))
    return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
  }
  return pathsOf(ours) === pathsOf(JSON.parse(theirs))
}

function isSameWithout(ours: unknown, theirs: unknown, group: string): boolean {
  if (!Array.isArray(ours) || !Array.isArray(theirs)) return false
  const others = (ours as readonly { readonly name?: string }[]).filter(({ name }) => name !== group)
  return others.length < ours.length && JSON.stringify(others) === JSON.stringify(theirs)
}

/** Checks that only one of the servers has. */
const additionalChecks = /^etcd-alarm\//
const lackingHooks = 'peer-endpoint-.*|aggregator-reload-proxy-client-cert'
const lackingChecks = new RegExp(`^(?:loopback-serving-certificate|poststarthook/(?:${lackingHooks}))$`)

/** The list of paths at `/`, which contains the checks. */
function arePathsOfSameHealth(ours: unknown, theirs: unknown): boolean {
  const isOf = (path: string, checks: RegExp): boolean =>
    checks.test(/^\/(?:healthz|livez|readyz)\/(.+)$/.exec(path)?.[1] ?? '')
  const paths = (list: unknown, others: RegExp): string =>
    (Array.isArray(list) ? (list as readonly string[]) : [])
      .filter(path => !isOf(path, others) && !path.startsWith('/apis/metrics.k8s.io'))
      .join()
  return paths(ours, additionalChecks) === paths(theirs, lackingChecks)
}

/** The order of the checks is that in which they were added; only their results matter. */
function isSameHealth(ours: string, theirs: string): boolean {
  const checks = (text: string, others: RegExp): string =>
    text
      .split('\n')
      .filter(line => !others.test(/^\[.\](\S+)/.exec(line)?.[1] ?? ''))
      .sort()
      .join('\n')
  return checks(ours, additionalChecks) === checks(theirs, lackingChecks)
}
