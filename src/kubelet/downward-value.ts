/**
 * Downward API values: pod fields and container resources, for environment variables and volumes. Unavailable
 * fields throw an Error with Kubernetes' message.
 * https://kubernetes.io/docs/concepts/workloads/pods/downward-api/
 */
import type { Container, ResourceFieldSelector } from '#/api/generated/core/v1.ts'
import { checkQualifiedName } from '#/api/names.ts'
import {
  quantityMilliValue,
  quantityValue,
  tryParseQuantity,
  zeroQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'
import { quote } from '#/api/text/quote.ts'
import type { KubeletPod } from './kubelet-pod.ts'

/** Metadata fields, available to volumes and environment variables. */
export function podMetadataValue(pod: KubeletPod, fieldPath: string): string {
  const { name, namespace, uid, labels = {}, annotations = {} } = pod.metadata
  switch (fieldPath) {
    case 'metadata.name':
      return name
    case 'metadata.namespace':
      return namespace
    case 'metadata.uid':
      return uid
    case 'metadata.labels':
      return formatMap(labels)
    case 'metadata.annotations':
      return formatMap(annotations)
    default:
      return subscriptedValue(fieldPath, { labels, annotations })
  }
}

/** Passed in by the caller, because the pod status may not contain them yet. */
export interface KnownAddresses {
  readonly podAddresses: readonly string[]
  readonly hostAddresses: readonly string[]
}

/** Fields available to environment variables. */
export function podFieldValue(pod: KubeletPod, fieldPath: string, known: KnownAddresses): string {
  switch (fieldPath) {
    case 'spec.nodeName':
    case 'spec.host':
      return pod.spec?.nodeName ?? ''
    case 'spec.serviceAccountName':
      return pod.spec?.serviceAccountName ?? ''
    case 'status.hostIP':
      return known.hostAddresses[0] ?? ''
    case 'status.hostIPs':
      return known.hostAddresses.join(',')
    case 'status.podIP':
      return known.podAddresses[0] ?? ''
    case 'status.podIPs':
      return known.podAddresses.join(',')
    default:
      return podMetadataValue(pod, fieldPath)
  }
}

export interface ResourceFieldContext {
  /** Default container if the selector does not name one. */
  readonly container?: Container
  /** Node allocatable: the value for containers without a limit. */
  readonly allocatable: Readonly<Record<string, string>>
}

/** The resource in units of the divisor, rounded up. */
export function resourceFieldValue(
  pod: KubeletPod,
  selector: ResourceFieldSelector,
  { container, allocatable }: ResourceFieldContext,
): string {
  const { containerName = '', resource, divisor } = selector
  const asked = containerName === '' ? container : containerNamed(pod, containerName)
  if (asked === undefined) throw new Error(`container ${containerName} not found`)
  const [, kind, name = ''] = /^(requests|limits)\.(.*)$/s.exec(resource) ?? []
  const isKnown = resourcesToAskFor.has(name) || name.startsWith('hugepages-')
  if (kind === undefined || !isKnown) throw new Error(`unsupported container resource : ${resource}`)
  const amount =
    kind === 'requests'
      ? amountOf(asked.resources?.requests, name)
      : limitOf(pod, asked, { name, allocatable })
  return roundedUp(name, amount, amountOf({ divisor: divisor ?? '1' }, 'divisor')).toString()
}

const resourcesToAskFor: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage'])

type ResourceList = Readonly<Record<string, string>>

/**
 * The container's limit, otherwise the pod-level limit, otherwise node allocatable. Huge pages use only the
 * container's limit.
 */
function limitOf(
  pod: KubeletPod,
  { resources }: Container,
  { name, allocatable }: { readonly name: string; readonly allocatable: ResourceList },
): Quantity {
  const own = amountOf(resources?.limits, name)
  if (own.nanos !== 0n || !resourcesToAskFor.has(name)) return own
  const ofPod = name === 'ephemeral-storage' ? zeroQuantity : amountOf(pod.spec?.resources?.limits, name)
  return ofPod.nanos === 0n ? amountOf(allocatable, name) : ofPod
}

function amountOf(list: ResourceList | undefined, name: string): Quantity {
  return tryParseQuantity(list?.[name] ?? '0') ?? zeroQuantity
}

/** CPU is counted in millicores, so that a divisor of `1m` is one unit. */
function roundedUp(name: string, amount: Quantity, divisor: Quantity): bigint {
  const value = name === 'cpu' ? quantityMilliValue : quantityValue
  const unit = divisor.nanos === 0n ? value({ nanos: 1_000_000_000n, format: 'DecimalSI' }) : value(divisor)
  return (value(amount) + unit - 1n) / unit
}

function containerNamed(pod: KubeletPod, name: string): Container | undefined {
  const { containers = [], initContainers = [] } = pod.spec ?? {}
  return [...containers, ...initContainers].find(container => container.name === name)
}

/** Value of a subscripted path such as `metadata.labels['app']`. */
function subscriptedValue(
  fieldPath: string,
  { labels, annotations }: { readonly labels: ResourceList; readonly annotations: ResourceList },
): string {
  const [, path, key = ''] = /^(.+?)\['(.*)'\]$/s.exec(fieldPath) ?? []
  if (path === undefined) throw new Error(`unsupported fieldPath: ${fieldPath}`)
  const isLabel = path === 'metadata.labels'
  if (!isLabel && path !== 'metadata.annotations') {
    throw new Error(`fieldPath ${quote(fieldPath)} does not support subscript`)
  }
  const errors = checkQualifiedName(isLabel ? key : key.toLowerCase())
  if (errors.length > 0) throw new Error(`invalid key subscript in ${fieldPath}: ${errors.join(';')}`)
  return (isLabel ? labels : annotations)[key] ?? ''
}

/** One line per key, sorted, with quoted values. */
function formatMap(map: ResourceList): string {
  return Object.entries(map)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${quote(value)}`)
    .join('\n')
}
