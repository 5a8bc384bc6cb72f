/** Warnings for pods and pod templates that are accepted. */
import type {
  Container,
  HostAlias,
  NodeSelectorTerm,
  Pod,
  PodAffinity,
  PodSpec,
  PodTemplateSpec,
  PreferredSchedulingTerm,
} from '../../generated/core/v1.ts'
import { warningsForIp } from '../../net/ip.ts'
import { checkDns1123Label, checkLabelValue } from '../../names.ts'
import type { ObjectMeta } from '../../metadata.ts'
import { quote } from '../../text/quote.ts'
import { containersOf, type PlacedContainer } from '../../core/pod-containers.ts'
import { appArmorFieldOf } from './pod-preparation.ts'
import { appArmorPrefix, seccompContainerPrefix, seccompPodKey } from './pod-annotation-validation.ts'
import { warningsForFractions } from './resource-warnings.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { warningsForVolumes } from './volume-warnings.ts'

/** Warnings for the spec and metadata of a pod. */
export function warningsForPod(metadata: ObjectMeta | undefined, spec: PodSpec): string[] {
  return warn('', metadata ?? {}, spec)
}

/** Warnings for AppArmor annotations of a new pod, before they become fields. */
export function warningsForAppArmorAnnotations({ metadata, spec }: Pod): string[] {
  const { annotations } = metadata
  if (annotations === undefined || spec === undefined || spec.os?.name === 'windows') return []
  return containersOf(spec, 'spec').flatMap(placed => warningsForAppArmor('', annotations, { placed, spec }))
}

/** `field` is the path of the template: `spec.template`. */
export function warningsForTemplate(field: string, template: PodTemplateSpec | undefined): string[] {
  return template === undefined
    ? []
    : warn(`${field}.`, template.metadata ?? {}, template.spec ?? { containers: [] })
}

/** The pod name is used as hostname and should be a DNS label, without dots. */
export function warningsForName(name: string | undefined, usedIn: string): string[] {
  const messages = checkDns1123Label(name ?? '')
  if (messages.length === 0) return []
  const advice = 'which can result in surprising behavior; a DNS label is recommended'
  return [`metadata.name: this is used in ${usedIn}, ${advice}: [${messages.join(' ')}]`]
}

export const namesOfPods = 'Pod names and hostnames'

function warn(prefix: string, metadata: ObjectMeta, spec: PodSpec): string[] {
  const field = `${prefix}spec`
  const containers = containersOf(spec, field)
  return [
    ...warningsForNodes(field, spec),
    ...warningsForSpreading(field, spec),
    ...warningsForAnnotations(prefix, metadata, spec),
    ...warningsForVolumes(`${field}.volumes`, spec.volumes ?? []),
    ...warningsForDuplicates(field, spec),
    ...warningsForFractions(`${field}.overhead`, spec.overhead),
    ...containers.flatMap(placed => warningsForContainer(prefix, metadata, { placed, spec })),
    ...warningsForPorts(containers),
    ...warningsForGracePeriod(field, spec),
    ...(spec.affinity?.podAffinity
      ? warningsForPodAffinity(`${field}.affinity.podAffinity`, spec.affinity.podAffinity)
      : []),
    ...(spec.affinity?.podAntiAffinity
      ? warningsForPodAffinity(`${field}.affinity.podAntiAffinity`, spec.affinity.podAntiAffinity)
      : []),
    ...warningsForAddresses(field, spec),
  ]
}

const deprecatedNodeLabels: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  [
    'failure-domain.beta.kubernetes.io/region',
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  ],
  [
    'failure-domain.beta.kubernetes.io/zone',
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  ],
  [
    'beta.kubernetes.io/instance-type',
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  ],
  ['app.kubernetes.io/created-by', 'deprecated since v1.9'],
  [
    'scheduler.alpha.kubernetes.io/preferAvoidPods',
    'deprecated since v1.22; use Taints and Tolerations instead',
  ],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
])

function warningsForNodes(field: string, { nodeSelector, affinity }: PodSpec): string[] {
  const place = `${field}.affinity.nodeAffinity`
  const { nodeAffinity } = affinity ?? {}
  const needed = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const preferred = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  return [
    ...Object.keys(nodeSelector ?? {}).flatMap(key => {
      const message = deprecatedNodeLabels.get(key)
      return message === undefined ? [] : [`${field}.nodeSelector[${key}]: ${message}`]
    }),
    ...needed.flatMap((term, index) => {
      return warningsForTerm(
        `${place}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${index}]`,
        term,
      )
    }),
    ...preferred.flatMap(({ preference = {} }: Partial<PreferredSchedulingTerm>, index) => {
      const termField = `${place}.preferredDuringSchedulingIgnoredDuringExecution[${index}].preference`
      return [...warningsForTerm(termField, preference), ...warningsForValues(termField, preference)]
    }),
  ]
}

function warningsForTerm(field: string, { matchExpressions = [] }: NodeSelectorTerm): string[] {
  return matchExpressions.flatMap(({ key }, index) => {
    const message = deprecatedNodeLabels.get(key)
    return message === undefined ? [] : [`${field}.matchExpressions[${index}].key: ${key} is ${message}`]
  })
}

/** Values that cannot be label values are valid in preferred terms, but match nothing. */
function warningsForValues(field: string, { matchExpressions = [] }: NodeSelectorTerm): string[] {
  return matchExpressions.flatMap(({ values = [] }, index) =>
    values.flatMap((value, position) => {
      const place = `${field}.matchExpressions[${index}].values[${position}]`
      return checkLabelValue(value).map(message => `${place}: ${value} is invalid, ${message}`)
    }),
  )
}

const matchesNothing = 'a null labelSelector results in matching no pod'

function warningsForSpreading(field: string, { topologySpreadConstraints = [] }: PodSpec): string[] {
  return topologySpreadConstraints.flatMap(({ topologyKey, labelSelector }, index) => {
    const place = `${field}.topologySpreadConstraints[${index}]`
    const message = deprecatedNodeLabels.get(topologyKey)
    const warnings = message === undefined ? [] : [`${place}.topologyKey: ${topologyKey} is ${message}`]
    return labelSelector === undefined ? [...warnings, `${place}.labelSelector: ${matchesNothing}`] : warnings
  })
}

function warningsForPodAffinity(field: string, affinity: PodAffinity): string[] {
  const { requiredDuringSchedulingIgnoredDuringExecution: needed = [] } = affinity
  const { preferredDuringSchedulingIgnoredDuringExecution: preferred = [] } = affinity
  const place = (list: string, index: number): string => {
    return `${field}.${list}DuringSchedulingIgnoredDuringExecution[${index}]`
  }
  return [
    ...needed.flatMap(({ labelSelector }, index) => {
      return labelSelector ? [] : [`${place('required', index)}.labelSelector: ${matchesNothing}`]
    }),
    ...preferred.flatMap(({ podAffinityTerm }, index) => {
      const isSet = podAffinityTerm?.labelSelector !== undefined
      return isSet ? [] : [`${place('preferred', index)}.podAffinityTerm.labelSelector: ${matchesNothing}`]
    }),
  ]
}

const deprecatedAnnotations: ReadonlyMap<string, string> = new Map([
  [
    'scheduler.alpha.kubernetes.io/critical-pod',
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  ],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  [
    'security.alpha.kubernetes.io/unsafe-sysctls',
    'non-functional in v1.11+; use the "sysctls" field instead',
  ],
])
const seccompMessage = 'non-functional in v1.27+; use the "seccompProfile" field instead'

function warningsForAnnotations(prefix: string, { annotations = {} }: ObjectMeta, spec: PodSpec): string[] {
  const warnings = [...deprecatedAnnotations].flatMap(([key, message]) => {
    return annotations[key] === undefined ? [] : [`${prefix}metadata.annotations[${key}]: ${message}`]
  })
  if (annotations[seccompPodKey] === undefined || spec.securityContext?.seccompProfile) return warnings
  return [...warnings, `${prefix}metadata.annotations[${seccompPodKey}]: ${seccompMessage}`]
}

function warningsForDuplicates(
  field: string,
  { hostAliases = [], imagePullSecrets = [] }: PodSpec,
): string[] {
  const addresses = new Set<string>()
  const names = new Set<string>()
  return [
    ...hostAliases.flatMap(({ ip = '' }: Partial<HostAlias>, index) => {
      if (addresses.has(ip)) return [`${field}.hostAliases[${index}].ip: duplicate ip ${quote(ip)}`]
      addresses.add(ip)
      return []
    }),
    ...imagePullSecrets.flatMap(({ name = '' }, index) => {
      const place = `${field}.imagePullSecrets[${index}].name`
      const warnings = names.has(name) ? [`${place}: duplicate name ${quote(name)}`] : []
      names.add(name)
      return name === '' ? [...warnings, `${place}: invalid empty name ""`] : warnings
    }),
  ]
}

interface ContainerOfPod {
  readonly placed: PlacedContainer
  readonly spec: PodSpec
}

function warningsForContainer(
  prefix: string,
  { annotations = {} }: ObjectMeta,
  { placed, spec }: ContainerOfPod,
): string[] {
  const { container, field } = placed
  const warnings: string[] = []
  const seccompKey = seccompContainerPrefix + container.name
  if (annotations[seccompKey] !== undefined && !container.securityContext?.seccompProfile) {
    warnings.push(`${prefix}metadata.annotations[${seccompKey}]: ${seccompMessage}`)
  }
  return [
    ...warnings,
    ...warningsForAppArmor(prefix, annotations, { placed, spec }),
    ...warningsForFractions(`${field}.resources.limits`, container.resources?.limits),
    ...warningsForFractions(`${field}.resources.requests`, container.resources?.requests),
    ...warningsForEnv(`${field}.env`, container),
  ]
}

function warningsForAppArmor(
  prefix: string,
  annotations: Readonly<Record<string, string>>,
  { placed: { container }, spec }: ContainerOfPod,
): string[] {
  const key = appArmorPrefix + container.name
  const annotation = annotations[key]
  if (annotation === undefined || container.securityContext?.appArmorProfile) return []
  const ofPod = spec.securityContext?.appArmorProfile
  if (ofPod && semanticEqual(ofPod, appArmorFieldOf(annotation))) return []
  const message = 'deprecated since v1.30; use the "appArmorProfile" field instead'
  return [`${prefix}metadata.annotations[${key}]: ${message}`]
}

/** A variable hides an earlier one of the same name unless its value refers to it. */
function warningsForEnv(field: string, { env = [] }: Container): string[] {
  const seen = new Set<string>()
  return env.flatMap(({ name, value = '', valueFrom }, index) => {
    if (!seen.has(name)) {
      seen.add(name)
      return []
    }
    const reference = `$(${name})`
    const buildsOn = valueFrom === undefined && value !== reference && value.includes(reference)
    const message = `hides previous definition of ${quote(name)}, which may be dropped when using apply`
    return buildsOn ? [] : [`${field}[${index}]: ${message}`]
  })
}

/** Each port is compared with the first port of the same number and with the first of the same name. */
function warningsForPorts(containers: readonly PlacedContainer[]): string[] {
  const firstByNumber = new Map<string, { field: string; hostIP: string; hostPort: number }>()
  const firstByName = new Map<string, string>()
  const warnings: string[] = []
  const duplicateNames: string[] = []
  for (const { container, field: place } of containers) {
    for (const [index, port] of (container.ports ?? []).entries()) {
      const { name, containerPort, protocol, hostIP = '', hostPort = 0 } = port
      const field = `${place}.ports[${index}]`
      if (hostIP !== '' && hostPort === 0) warnings.push(`${field}: hostIP set without hostPort`)
      const key = `${containerPort}/${protocol}`
      const first = firstByNumber.get(key)
      if (first === undefined) firstByNumber.set(key, { field, hostIP, hostPort })
      else if (hostIP === first.hostIP && hostPort === first.hostPort) {
        warnings.push(`${field}: duplicate port definition with ${first.field}`)
      } else if (hostPort === 0 || first.hostPort === 0) {
        warnings.push(`${field}: overlapping port definition with ${first.field}`)
      } else if (hostPort === first.hostPort && (hostIP === '') !== (first.hostIP === '')) {
        warnings.push(`${field}: dangerously ambiguous port definition with ${first.field}`)
      }
      if (!name) continue
      const namesake = firstByName.get(name)
      if (namesake === undefined) firstByName.set(name, field)
      else {
        const effect = `services and probes that select ports by name will use ${namesake}`
        duplicateNames.push(`${field}: duplicate port name ${quote(name)} with ${namesake}, ${effect}`)
      }
    }
  }
  return [...warnings, ...duplicateNames]
}

function warningsForGracePeriod(
  field: string,
  { terminationGracePeriodSeconds: seconds }: PodSpec,
): string[] {
  if (seconds === undefined || seconds >= 0) return []
  return [
    `${field}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
  ]
}

function warningsForAddresses(field: string, { dnsConfig, hostAliases = [] }: PodSpec): string[] {
  return [
    ...(dnsConfig?.nameservers ?? []).flatMap((ip, index) => {
      return warningsForIp(`${field}.dnsConfig.nameservers[${index}]`, ip)
    }),
    ...hostAliases.flatMap(({ ip }, index) => warningsForIp(`${field}.hostAliases[${index}].ip`, ip ?? '')),
  ]
}
