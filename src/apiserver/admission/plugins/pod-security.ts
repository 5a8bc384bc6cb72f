/**
 * Enforces the Pod Security Standards level of the namespace: violations are rejected, audited or warned
 * about. Pod templates in workloads are only audited and warned about, never rejected.
 * https://kubernetes.io/docs/concepts/security/pod-security-admission/
 */
import { internalError } from '#/api/errors.ts'
import { formatFieldErrors, invalidObject } from '#/api/field-error.ts'
import type { Namespace, Pod, Container, PodTemplate, PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { CronJob } from '#/api/generated/batch/v1.ts'
import type { Deployment } from '#/api/generated/apps/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { qualifiedResourceName, type Resource } from '#/api/resource.ts'
import {
  admissionForbidden,
  type AdmissionPlugin,
  type AdmissionAttributes,
  type AdmissionTarget,
} from '../admission-chain.ts'
import type { PodSecurityEvaluation, PodSecurityTarget } from '../../metrics/admission.ts'
import { getCached, getCachedOrStored } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'
import type { PodToCheck } from './pod-security/check.ts'
import { readPodSecurity, type PodSecurityConfiguration } from './pod-security/configuration.ts'
import { evaluate, formatDetails } from './pod-security/evaluate.ts'
import { ExistingPodEvaluator } from './pod-security/existing-pod-evaluator.ts'
import {
  compareLevels,
  formatLevelVersion,
  isEquivalent,
  isPrivileged,
  isSame,
  labelPrefix,
  modes,
  policyOf,
  type Policy,
  type ReadPolicy,
} from './pod-security/policy.ts'
import { specOf } from './pod-spec.ts'

export function podSecurity(context: PluginContext, configuration?: JsonValue): AdmissionPlugin {
  return new PodSecurityAdmission(context, readPodSecurity(configuration))
}

class PodSecurityAdmission implements AdmissionPlugin {
  readonly name = 'PodSecurity'
  readonly #context: PluginContext
  readonly #configuration: PodSecurityConfiguration
  readonly #pods: ExistingPodEvaluator

  constructor(context: PluginContext, configuration: PodSecurityConfiguration) {
    this.#context = context
    this.#configuration = configuration
    this.#pods = new ExistingPodEvaluator(context, configuration.exemptions)
  }

  handles({ operation, resource, subresource }: AdmissionTarget): boolean {
    if (operation !== 'CREATE' && operation !== 'UPDATE') return false
    if (resource.group === '' && resource.plural === 'pods') return !ignoredPodParts.has(subresource)
    return subresource === '' && (hasTemplate(resource) || isNamespace(resource))
  }

  validate(request: AdmissionAttributes): void | Promise<void> {
    if (isNamespace(request.resource)) return this.#checkNamespace(request)
    const { usernames, namespaces: exempt } = this.#configuration.exemptions
    if (exempt.has(request.namespace)) return this.#exempt(request, 'namespace')
    if (usernames.has(request.user.username)) return this.#exempt(request, 'user')
    const known = getCached(this.#context, namespaces, { name: request.namespace })
    if (known) return this.#check(request, known)
    return getCachedOrStored(this.#context, namespaces, { name: request.namespace }).then(found =>
      this.#check(request, found),
    )
  }

  #check(request: AdmissionAttributes, namespace: Namespace | undefined): void {
    const isPod = request.resource.plural === 'pods'
    if (namespace === undefined) {
      this.#context.metrics?.admission.recordPodSecurityError(targetOf(request), isPod)
      if (isPod) throw internalError(`failed to lookup namespace "${request.namespace}"`)
      return annotate(request, 'error', `failed to lookup namespace "${request.namespace}"`)
    }
    const read = policyOf(namespace.metadata.labels, this.#configuration.defaults)
    const { policy, errors } = read
    if (isPod) {
      if (errors.length === 0 && isPrivileged(policy)) {
        this.#record(request, policy, { mode: 'enforce', decision: 'allow' })
        return annotate(request, 'enforce-policy', 'privileged:latest')
      }
      const pod = request.object as Pod
      if (request.operation === 'UPDATE' && !isSignificantPodUpdate(pod, request.oldObject as Pod)) return
      return this.#evaluate(request, read, { metadata: pod.metadata, spec: specOf(pod) })
    }
    if (errors.length === 0 && policy.warn.level === 'privileged' && policy.audit.level === 'privileged')
      return
    const template = templateOf(request)
    if (template) this.#evaluate(request, read, template)
  }

  #evaluate(request: AdmissionAttributes, { policy, errors }: ReadPolicy, pod: PodToCheck): void {
    const { runtimeClassName = '' } = pod.spec
    if (this.#configuration.exemptions.runtimeClasses.has(runtimeClassName)) {
      return this.#exempt(request, 'runtimeClass')
    }
    if (errors.length > 0) {
      this.#context.metrics?.admission.recordPodSecurityError(targetOf(request), false)
      annotate(request, 'error', `Failed to parse policy: ${formatFieldErrors(errors)}`)
    }
    const audited = violation(policy, 'audit', pod)
    if (audited !== undefined) {
      this.#record(request, policy, { mode: 'audit', decision: 'deny' })
      annotate(request, 'audit-violations', `would violate ${audited}`)
    }
    if (request.resource.plural === 'pods') {
      annotate(request, 'enforce-policy', formatLevelVersion(policy.enforce))
      const enforced = violation(policy, 'enforce', pod)
      this.#record(request, policy, { mode: 'enforce', decision: enforced === undefined ? 'allow' : 'deny' })
      if (enforced !== undefined) throw admissionForbidden(request, `violates ${enforced}`)
    }
    const warned = violation(policy, 'warn', pod)
    if (warned === undefined) return
    this.#record(request, policy, { mode: 'warn', decision: 'deny' })
    request.warn(`would violate ${warned}`)
  }

  #exempt(request: AdmissionAttributes, dimension: string): void {
    this.#context.metrics?.admission.recordPodSecurityExemption(targetOf(request))
    annotate(request, 'exempt', dimension)
  }

  #record(
    request: AdmissionAttributes,
    policy: Policy,
    { mode, decision }: Pick<PodSecurityEvaluation, 'mode' | 'decision'>,
  ): void {
    const [level = '', version = ''] = formatLevelVersion(policy[mode]).split(':')
    const target = targetOf(request)
    this.#context.metrics?.admission.recordPodSecurityEvaluation({
      ...target,
      mode,
      decision,
      level,
      version,
    })
  }

  /**
   * Rejects invalid Pod Security labels. A stricter enforce level warns about existing pods that violate it.
   */
  #checkNamespace(request: AdmissionAttributes): void | Promise<void> {
    const { defaults, exemptions } = this.#configuration
    const { metadata } = request.object as Namespace
    const { name = '', labels = {} } = metadata
    const { policy, errors } = policyOf(labels, defaults)
    const invalid = (): Error => invalidObject({ group: '', kind: 'Namespace', name }, errors)
    if (request.oldObject === undefined) {
      if (errors.length > 0) throw invalid()
      if (exemptions.namespaces.has(name)) this.#warnOfExemption(request, policy)
      return
    }
    const old = policyOf(request.oldObject.metadata.labels, defaults)
    if (errors.length > 0 && formatFieldErrors(errors) !== formatFieldErrors(old.errors)) throw invalid()
    const { enforce } = policy
    const was = old.policy.enforce
    const isRelaxed = enforce.version === was.version && compareLevels(enforce.level, was.level) <= 0
    if (isSame(enforce, was) || enforce.level === 'privileged' || isRelaxed) return
    if (exemptions.namespaces.has(name)) return this.#warnOfExemption(request, policy)
    for (const warning of this.#pods.warningsFor(name, enforce)) request.warn(warning)
  }

  #warnOfExemption(request: AdmissionAttributes, policy: Policy): void {
    if (isPrivileged(policy) || isEquivalent(policy, this.#configuration.defaults)) return
    const { name = '', labels = {} } = request.object?.metadata ?? {}
    const shown = modes
      .filter(mode => policy[mode].level !== 'privileged')
      .filter(mode => [mode, `${mode}-version`].some(label => labels[`${labelPrefix}${label}`] !== undefined))
      .map(mode => `${mode}=${formatLevelVersion(policy[mode])}`)
    request.warn(
      `namespace "${name}" is exempt from Pod Security, and the policy (${shown.join(', ')}) will be ignored`,
    )
  }
}

function targetOf({ operation, resource, subresource }: AdmissionTarget): PodSecurityTarget {
  const kind = resource.plural === 'pods' ? 'pod' : isNamespace(resource) ? 'namespace' : 'controller'
  return { operation: operation === 'CREATE' ? 'create' : 'update', resource: kind, subresource }
}

/** Subresources that cannot make a pod less secure. */
const ignoredPodParts: ReadonlySet<string> = new Set([
  'exec',
  'attach',
  'binding',
  'eviction',
  'log',
  'portforward',
  'proxy',
  'status',
])

function isNamespace({ group, plural }: AdmissionTarget['resource']): boolean {
  return group === '' && plural === 'namespaces'
}

function annotate(request: AdmissionAttributes, key: string, value: string): void {
  request.addAuditAnnotation(`${labelPrefix}${key}`, value)
}

/** Text of the violations, e.g. `PodSecurity "restricted:latest": ...`; undefined if there are none. */
function violation(policy: Policy, mode: keyof Policy, pod: PodToCheck): string | undefined {
  const violations = evaluate(policy[mode], pod)
  return violations.length === 0
    ? undefined
    : `PodSecurity "${formatLevelVersion(policy[mode])}": ${formatDetails(violations)}`
}

/** True if an update changes what runs in the pod. Other mutable fields cannot make it less secure. */
function isSignificantPodUpdate(pod: Pod, oldObject: Pod): boolean {
  const { containers, initContainers = [], ephemeralContainers = [] } = specOf(pod)
  const {
    containers: were,
    initContainers: initWere = [],
    ephemeralContainers: ephemeralWere = [],
  } = specOf(oldObject)
  return (
    imagesDiffer(containers, were) ||
    imagesDiffer(initContainers, initWere) ||
    ephemeralContainers.some(
      ({ name, image }) => ephemeralWere.find(each => each.name === name)?.image !== image,
    ) ||
    ephemeralContainers.some(({ name }) => !ephemeralWere.some(each => each.name === name))
  )
}

function imagesDiffer(containers: readonly Container[], were: readonly Container[]): boolean {
  return (
    containers.length !== were.length ||
    containers.some((container, index) => container.image !== were[index]?.image)
  )
}

/** Finds the pod template of a workload resource. */
type FindTemplate = (object: KubernetesObject) => PodTemplateSpec | undefined

const inSpec: FindTemplate = object => (object as Partial<Deployment>).spec?.template

const templates: ReadonlyMap<string, FindTemplate> = new Map<string, FindTemplate>([
  ['podtemplates', object => (object as PodTemplate).template],
  ['replicationcontrollers', inSpec],
  ['replicasets.apps', inSpec],
  ['deployments.apps', inSpec],
  ['statefulsets.apps', inSpec],
  ['daemonsets.apps', inSpec],
  ['jobs.batch', inSpec],
  ['cronjobs.batch', object => (object as CronJob).spec?.jobTemplate.spec?.template],
])

function hasTemplate(resource: Resource): boolean {
  return templates.has(qualifiedResourceName(resource))
}

function templateOf({ resource, object }: AdmissionAttributes): PodToCheck | undefined {
  const template = object && templates.get(qualifiedResourceName(resource))?.(object)
  return template && { metadata: template.metadata ?? {}, spec: specOf(template) }
}
