/**
 * Limits the rate of Events per server, namespace, user, or source and object.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#eventratelimit
 */
import { tooManyRequests } from '#/api/errors.ts'
import { invalid, notSupported, type FieldError } from '#/api/field-error.ts'
import type { Event } from '#/api/generated/core/v1.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { Clock } from '#/platform/platform.ts'
import { matchesResource, type AdmissionPlugin, type AdmissionAttributes } from '../admission-chain.ts'
import {
  checkConfiguration,
  integer,
  listOf,
  readConfiguration,
  struct,
  text,
  versionedStruct,
  type ConfigurationType,
} from '../plugin-configuration.ts'
import { ConfigurationError, type PluginContext } from '../plugin-context.ts'
import { TokenBuckets } from './token-buckets.ts'

export function eventRateLimit({ platform }: PluginContext, configuration?: JsonValue): AdmissionPlugin {
  const limits = limitsOf(configuration).map(limit => enforce(limit, platform.clock))
  return {
    name: 'EventRateLimit',
    handles: target =>
      (target.operation === 'CREATE' || target.operation === 'UPDATE') &&
      (matchesResource(target, 'events') || matchesResource(target, 'events.events.k8s.io')),
    validate(request) {
      if (request.dryRun) return
      const reached = limits.flatMap(limit => limit(request) ?? [])
      if (reached.length === 0) return
      throw tooManyRequests(reached.length === 1 ? reached[0]! : `[${reached.join(', ')}]`, 1)
    },
  }
}

interface Limit {
  readonly type: string
  readonly qps: number
  readonly burst: number
  readonly cacheSize?: number
}

/** Returns the error message when the limit is exceeded. */
function enforce(
  { type, qps, burst, cacheSize }: Limit,
  clock: Clock,
): (request: AdmissionAttributes) => string | undefined {
  const buckets = new TokenBuckets({ clock, perSecond: qps, burst, bucketsMax: cacheSize || bucketsMax })
  return request => {
    const key = keys[type]!(request)
    return buckets.take(key) ? undefined : `limit reached on type ${type} for key ${key}`
  }
}

/** Default maximum number of token buckets per limit; the least recently used one is evicted. */
const bucketsMax = 4_096

const keys: Readonly<Record<string, (request: AdmissionAttributes) => string>> = {
  Server: () => '',
  Namespace: ({ namespace }) => namespace,
  User: ({ user }) => user.username,
  SourceAndObject: ({ object }) => {
    const { source, involvedObject: about } = object as Event
    return [
      source?.component,
      source?.host,
      about?.kind,
      about?.namespace,
      about?.name,
      about?.uid,
      about?.apiVersion,
    ].join('')
  },
}

const form: ConfigurationType<{ readonly limits?: readonly Partial<Limit>[] }> = {
  name: 'EventRateLimit',
  kind: 'Configuration',
  versions: ['eventratelimit.admission.k8s.io/v1alpha1'],
  schema: versionedStruct('EventRateLimit', {
    limits: listOf(struct('Limit', { type: text, qps: integer, burst: integer, cacheSize: integer })),
  }),
}

function limitsOf(configuration: JsonValue | undefined): readonly Limit[] {
  if (configuration === undefined) {
    throw new ConfigurationError('EventRateLimit requires a configuration with limits')
  }
  const { limits = [] } = readConfiguration(configuration, form)
  const errors = limits.flatMap(validate)
  checkConfiguration(
    'EventRateLimit',
    limits.length === 0 ? [invalid('limits', limits, 'must not be empty')] : errors,
  )
  return limits as readonly Limit[]
}

function validate(
  { type = '', qps = 0, burst = 0, cacheSize = 0 }: Partial<Limit>,
  index: number,
): FieldError[] {
  const field = `limits[${index}]`
  const errors: FieldError[] = []
  if (!Object.hasOwn(keys, type)) errors.push(notSupported(`${field}.type`, type, Object.keys(keys)))
  if (burst <= 0) errors.push(invalid(`${field}.burst`, burst, 'must be positive'))
  if (qps <= 0) errors.push(invalid(`${field}.qps`, qps, 'must be positive'))
  if (type !== 'Server' && cacheSize < 0)
    errors.push(invalid(`${field}.cacheSize`, cacheSize, 'must not be negative'))
  return errors
}
