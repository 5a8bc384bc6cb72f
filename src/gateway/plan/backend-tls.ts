/** TLS between Gateways and backends. https://gateway-api.sigs.k8s.io/api-types/backendtlspolicy/ */
import { X509Certificate } from 'node:crypto'
import { messageOf } from '#/base/message-of.ts'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { BackendTLSPolicy } from '../gateway-api/backend-tls-policy.ts'
import { conditionFalse, conditionTrue, type PlannedCondition, type Problem } from './conditions.ts'
import { compareAge } from './compare-age.ts'
import type { GatewayWorld, References } from './world.ts'

export interface BackendTls {
  readonly serverName: string
  /** PEM; undefined means the authorities of the system. */
  readonly ca: string | undefined
}

export interface PolicyPlan {
  readonly policy: Stored<BackendTLSPolicy>
  /** `namespace/name` of Services. */
  readonly services: readonly string[]
  readonly conditions: () => readonly PlannedCondition[]
}

export interface BackendTlsPlan {
  readonly policies: readonly PolicyPlan[]
  /** Undefined without a policy; `invalid` if the policy cannot be followed: there must be no connection. */
  readonly tlsOf: (service: string, portName: string) => BackendTls | 'invalid' | undefined
}

/** Only policies of Services that routes use are evaluated, so that only their ConfigMaps are read. */
export function planBackendTls(world: GatewayWorld, references: References): BackendTlsPlan {
  const byTarget = new Map<string, Stored<BackendTLSPolicy>>()
  const evaluated = new Map<Stored<BackendTLSPolicy>, PlannedPolicy>()
  const evaluate = (policy: Stored<BackendTLSPolicy>): PlannedPolicy => {
    const planned = evaluated.get(policy) ?? planPolicy(policy, { world, references })
    evaluated.set(policy, planned)
    return planned
  }
  const policies = world.backendTlsPolicies.toSorted(compareAge).map((policy): PolicyPlan => {
    const { namespace } = policy.metadata
    const targets = policy.spec.targetRefs.filter(({ group, kind }) => group === '' && kind === 'Service')
    const keys = targets.map(({ name, sectionName = '' }) => `${namespace}/${name}#${sectionName}`)
    // Policies are in order of their precedence.
    const isConflicted = keys.some(key => byTarget.has(key))
    for (const key of keys) if (!byTarget.has(key)) byTarget.set(key, policy)
    return {
      policy,
      services: targets.map(({ name }) => `${namespace}/${name}`),
      conditions: () => {
        const { accepted, resolvedRefs } = evaluate(policy)
        return [isConflicted ? conditionFalse('Accepted', conflicted) : accepted, resolvedRefs]
      },
    }
  })
  return {
    policies,
    tlsOf: (service, portName) => {
      const policy = byTarget.get(`${service}#${portName}`) ?? byTarget.get(`${service}#`)
      return policy && evaluate(policy).tls
    },
  }
}

const conflicted: Problem = {
  reason: 'Conflicted',
  message: 'an older BackendTLSPolicy has the same target',
}

interface PolicyContext {
  readonly world: GatewayWorld
  readonly references: References
}

interface PlannedPolicy {
  readonly tls: BackendTls | 'invalid'
  readonly accepted: PlannedCondition
  readonly resolvedRefs: PlannedCondition
}

function planPolicy({ metadata, spec }: Stored<BackendTLSPolicy>, context: PolicyContext): PlannedPolicy {
  const { hostname, caCertificateRefs = [], wellKnownCACertificates, subjectAltNames = [] } = spec.validation
  const { namespace = '' } = metadata
  const authorities = caCertificateRefs.map(reference => readAuthority(namespace, reference, context))
  const found = authorities.filter(each => typeof each === 'string')
  const problem = authorities.find(each => typeof each !== 'string')
  const isSystem = wellKnownCACertificates === 'System' && caCertificateRefs.length === 0
  const refused: Problem | undefined =
    subjectAltNames.length > 0
      ? { reason: 'Invalid', message: 'subjectAltNames are not supported' }
      : found.length > 0 || isSystem
        ? undefined
        : ((problem && { reason: 'NoValidCACertificate', message: problem.message }) ?? {
            reason: 'Invalid',
            message: `wellKnownCACertificates ${wellKnownCACertificates} is not supported, use System`,
          })
  return {
    tls:
      refused === undefined
        ? { serverName: hostname, ca: isSystem ? undefined : found.join('\n') }
        : 'invalid',
    accepted: refused === undefined ? conditionTrue('Accepted') : conditionFalse('Accepted', refused),
    resolvedRefs:
      problem === undefined ? conditionTrue('ResolvedRefs') : conditionFalse('ResolvedRefs', problem),
  }
}

type AuthorityReference = NonNullable<BackendTLSPolicy['spec']['validation']['caCertificateRefs']>[number]

/** The certificates in PEM. */
function readAuthority(
  namespace: string,
  { group, kind, name }: AuthorityReference,
  { world, references }: PolicyContext,
): string | Problem {
  if (group !== '' || kind !== 'ConfigMap') {
    const message = `caCertificateRef ${name}: kind ${kind} is not supported, use a ConfigMap`
    return { reason: 'InvalidKind', message }
  }
  const key = `${namespace}/${name}`
  references.configMaps.add(key)
  const configMap = world.configMap(key)
  const reason = 'InvalidCACertificateRef'
  if (configMap === undefined) return { reason, message: `ConfigMap ${key} does not exist` }
  const error = certificateError(configMap)
  return error === undefined
    ? (configMap.data?.['ca.crt'] ?? '')
    : { reason, message: `ConfigMap ${key}: ca.crt must be a certificate in PEM: ${error}` }
}

/** By the immutable ConfigMap. */
const checked = new WeakMap<ConfigMap, string | false>()

function certificateError(configMap: ConfigMap): string | undefined {
  const known = checked.get(configMap)
  if (known !== undefined) return known === false ? undefined : known
  let error: string | false = false
  try {
    const { raw } = new X509Certificate(configMap.data?.['ca.crt'] ?? '')
    if (raw.length === 0) error = 'it is empty'
  } catch (reason) {
    error = messageOf(reason)
  }
  checked.set(configMap, error)
  return error === false ? undefined : error
}
