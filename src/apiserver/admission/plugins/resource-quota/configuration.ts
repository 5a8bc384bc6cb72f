/**
 * ResourceQuotaConfiguration: resources that may be consumed only where a quota covers them.
 * https://kubernetes.io/docs/concepts/policy/resource-quotas/#limit-priority-class-consumption-by-default
 */
import type { ScopedResourceSelectorRequirement } from '#/api/generated/core/v1.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { ConfigurationError } from '../../plugin-context.ts'

export interface LimitedResource {
  /** E.g. `pods` or `jobs.batch`. */
  readonly resource: string
  /** Quota resource names that contain one of these substrings are limited. */
  readonly matchContains: readonly string[]
  readonly matchScopes: readonly ScopedResourceSelectorRequirement[]
}

/** Parses a `ResourceQuotaConfiguration`. Throws ConfigurationError. */
export function parseQuotaConfiguration(value: JsonValue): readonly LimitedResource[] {
  const what = 'invalid configuration of ResourceQuota'
  const { apiVersion, kind, limitedResources = [], ...others } = objectOf(value, what)
  if (kind !== 'ResourceQuotaConfiguration' && kind !== 'Configuration') {
    throw new ConfigurationError(
      `${what}: kind must be ResourceQuotaConfiguration, got ${JSON.stringify(kind)}`,
    )
  }
  if (!versions.has(String(apiVersion))) {
    throw new ConfigurationError(`${what}: unsupported apiVersion ${JSON.stringify(apiVersion)}`)
  }
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new ConfigurationError(`${what}: unknown field ${unknown}`)
  return listOf(limitedResources, 'limitedResources').map(limitedResource)
}

const versions: ReadonlySet<string> = new Set([
  'apiserver.config.k8s.io/v1',
  'resourcequota.admission.k8s.io/v1',
  'resourcequota.admission.k8s.io/v1beta1',
  'resourcequota.admission.k8s.io/v1alpha1',
])

function limitedResource(value: unknown, index: number): LimitedResource {
  const field = `limitedResources[${index}]`
  const { apiGroup = '', resource = '', matchContains = [], matchScopes = [] } = objectOf(value, field)
  if (typeof resource !== 'string' || resource === '') {
    throw new ConfigurationError(`${field}.resource: a resource is required`)
  }
  return {
    resource: apiGroup === '' ? resource : `${resource}.${String(apiGroup)}`,
    matchContains: listOf(matchContains, `${field}.matchContains`).map(String),
    matchScopes: listOf(matchScopes, `${field}.matchScopes`).map(each => scope(each, `${field}.matchScopes`)),
  }
}

function scope(value: unknown, field: string): ScopedResourceSelectorRequirement {
  const { scopeName, operator, values = [] } = objectOf(value, field)
  if (typeof scopeName !== 'string' || typeof operator !== 'string') {
    throw new ConfigurationError(`${field}: scopeName and operator are required`)
  }
  return { scopeName, operator, values: listOf(values, `${field}.values`).map(String) }
}

function objectOf(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigurationError(`${field} is not an object`)
  }
  return value as Readonly<Record<string, unknown>>
}

function listOf(value: unknown, field: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ConfigurationError(`${field} is not a list`)
  return value
}
