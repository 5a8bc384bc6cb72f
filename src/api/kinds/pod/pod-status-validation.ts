/** Validation of pod status updates. */
import {
  duplicate,
  forbiddenField,
  invalid,
  invalidEach,
  notSupported,
  required,
  tooLong,
  type FieldError,
} from '../../field-error.ts'
import type {
  Container,
  ContainerStatus,
  LinuxContainerUser,
  Pod,
  PodCondition,
  PodExtendedResourceClaimStatus,
  PodResourceClaimStatus,
  PodSpec,
  ResourceHealth,
  ResourceStatus,
} from '../../generated/core/v1.ts'
import { parseIpLeniently, validateIpForLegacyField } from '../../net/ip.ts'
import { checkDns1123Label, checkDns1123Subdomain, checkQualifiedName, checkUserId } from '../../names.ts'
import { containersOf } from '../../core/pod-containers.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { specOf } from './pod-validation.ts'

export function validatePodStatusUpdate(pod: Pod, old: Pod): FieldError[] {
  const { status = {} } = pod
  const spec = specOf(pod)
  return [
    ...validateConditions('status.conditions', status.conditions ?? []),
    ...validateNomination('status.nominatedNodeName', pod, old),
    ...validateGeneration('status.observedGeneration', status.observedGeneration),
    ...validateQosClass('status.qosClass', pod, old),
    ...validateTransitions(pod, old),
    ...validateClaimStatuses('status.resourceClaimStatuses', status.resourceClaimStatuses ?? [], spec),
    ...validateExtendedClaim('status.extendedResourceClaimStatus', status.extendedResourceClaimStatus, spec),
    ...validateIps('status.podIPs', status.podIPs ?? [], old.status?.podIPs ?? []),
    ...validateHostIps('status.hostIPs', pod, old),
    ...statusLists.flatMap(list => [
      ...validateUsers(`status.${list}`, status[list] ?? [], spec),
      ...validateAllocations(`status.${list}`, status[list] ?? [], isForDebugging(list) ? undefined : spec),
    ]),
  ]
}

const statusLists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const
function isForDebugging(list: (typeof statusLists)[number]): boolean {
  return list === 'ephemeralContainerStatuses'
}

const systemConditions: ReadonlySet<string> = new Set(['PodScheduled', 'Ready', 'Initialized'])

function validateConditions(field: string, conditions: readonly PodCondition[]): FieldError[] {
  return conditions.flatMap(({ type = '', observedGeneration }: Partial<PodCondition>, index) => [
    ...validateGeneration(`${field}[${index}].observedGeneration`, observedGeneration),
    ...(systemConditions.has(type)
      ? []
      : invalidEach(`${field}[${index}].Type`, type, checkQualifiedName(type))),
  ])
}

function validateGeneration(field: string, generation: number | bigint | undefined): FieldError[] {
  const isNegative = generation !== undefined && generation < 0
  return isNegative ? [invalid(field, generation, 'must be a non-negative integer')] : []
}

/** `nominatedNodeName` must not be set on a pod that is already bound. */
function validateNomination(field: string, pod: Pod, old: Pod): FieldError[] {
  const { nominatedNodeName: name } = pod.status ?? {}
  if (!name || name === old.status?.nominatedNodeName) return []
  const errors = invalidEach(field, name, checkDns1123Subdomain(name))
  if (!old.spec?.nodeName) return errors
  return [...errors, forbiddenField(field, 'may not be set on pods that are already bound to a node')]
}

function validateQosClass(field: string, pod: Pod, old: Pod): FieldError[] {
  const { qosClass = '' } = pod.status ?? {}
  return qosClass === (old.status?.qosClass ?? '') ? [] : [invalid(field, qosClass, 'field is immutable')]
}

/** A container that has terminated permanently must not leave the terminated state. */
function validateTransitions(pod: Pod, old: Pod): FieldError[] {
  const spec = specOf(old)
  const containers = containersOf(spec, '').map(({ container }) => container)
  const anyMayRestart = containers.some(restartsAll)
  const byName = new Map(containers.map(container => [container.name, container]))
  return statusLists.flatMap(list => {
    const after = new Map((pod.status?.[list] ?? []).map(status => [status.name, status]))
    return (old.status?.[list] ?? []).flatMap(({ name, state }, index) => {
      const ended = state?.terminated
      const status = after.get(name)
      if (ended === undefined || status === undefined || status.state?.terminated !== undefined) return []
      const container = byName.get(name)
      const mayReturn =
        anyMayRestart || (container !== undefined && mayRestart(container, spec, ended.exitCode))
      if (mayReturn && !isForDebugging(list)) return []
      return [
        forbiddenField(`status.${list}[${index}].state`, 'may not be transitioned to non-terminated state'),
      ]
    })
  })
}

/** Restart rules of the container take precedence, then its restart policy, then that of the pod. */
function mayRestart(container: Container, spec: PodSpec, exitCode = 0): boolean {
  for (const { exitCodes } of container.restartPolicyRules ?? []) {
    const isListed = exitCodes?.values?.includes(exitCode) ?? false
    if (exitCodes !== undefined && isListed === (exitCodes.operator === 'In')) return true
  }
  const policy = container.restartPolicy ?? spec.restartPolicy
  return policy === 'OnFailure' ? exitCode !== 0 : policy !== 'Never'
}

function restartsAll(container: Container): boolean {
  return container.restartPolicyRules?.some(rule => rule.action === 'RestartAllContainers') ?? false
}

function validateExtendedClaim(
  field: string,
  claim: Unchecked<PodExtendedResourceClaimStatus> | undefined,
  spec: PodSpec,
): FieldError[] {
  if (claim === undefined) return []
  const { requestMappings = [], resourceClaimName = '' } = claim
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])]
  const seen = new Set<string>()
  const errors = requestMappings.flatMap(
    ({ containerName = '', resourceName = '', requestName = '' }, index) => {
      const place = `${field}.requestMappings[${index}]`
      const container = containers.findLast(({ name }) => name === containerName)
      const key = JSON.stringify([containerName, resourceName, requestName])
      const isRepeated = seen.has(key)
      seen.add(key)
      return [
        ...validateMapping(place, { containerName, resourceName }, container),
        ...invalidEach(`${field}.requestName`, requestName, checkDns1123Label(requestName)),
        ...(isRepeated
          ? Object.entries({ containerName, resourceName, requestName }).map(([name, value]) => {
              return duplicate(`${place}.${name}`, value)
            })
          : []),
      ]
    },
  )
  const hasMappings = requestMappings.length > 0
  return [
    ...(hasMappings
      ? []
      : [required(`${field}.requestMappings`, 'at least one request mapping is required')]),
    ...errors,
    ...(resourceClaimName === ''
      ? [required(`${field}.resourceClaimName`, '')]
      : invalidEach(
          `${field}.resourceClaimName`,
          resourceClaimName,
          checkDns1123Subdomain(resourceClaimName),
        )),
  ]
}

interface Mapping {
  readonly containerName: string
  readonly resourceName: string
}

function validateMapping(
  field: string,
  { containerName, resourceName }: Mapping,
  container: Container | undefined,
): FieldError[] {
  const lists = (suffix: string): string => `spec.initContainers.${suffix} or spec.containers.${suffix}`
  if (container === undefined) {
    const text = `must match the name of an entry in ${lists('name')}`
    return [invalid(`${field}.containerName`, containerName, text)]
  }
  if (container.resources?.requests?.[resourceName] !== undefined) return []
  const text = `must match the extended resource name of an entry in ${lists('resources.requests')}`
  return [invalid(`${field}.resourceName`, resourceName, text)]
}

function validateClaimStatuses(
  field: string,
  statuses: readonly PodResourceClaimStatus[],
  { resourceClaims = [] }: PodSpec,
): FieldError[] {
  const known = new Set(resourceClaims.map(claim => claim.name))
  const seen = new Set<string>()
  return statuses.flatMap(({ name = '', resourceClaimName }: Partial<PodResourceClaimStatus>, index) => {
    const place = `${field}[${index}]`
    const errors = known.has(name)
      ? []
      : [invalid(`${place}.name`, name, 'must match the name of an entry in `spec.resourceClaims`')]
    if (seen.has(name)) errors.push(duplicate(`${place}.name`, name))
    seen.add(name)
    if (resourceClaimName === undefined) return errors
    return [
      ...errors,
      ...invalidEach(
        `${place}.resourceClaimName`,
        resourceClaimName,
        checkDns1123Subdomain(resourceClaimName),
      ),
    ]
  })
}

interface Address {
  readonly ip?: string
}

/** At most one address per IP family. */
function validateIps(field: string, addresses: readonly Address[], old: readonly Address[]): FieldError[] {
  const known = old.map(address => address.ip ?? '')
  const texts = addresses.map(address => address.ip ?? '')
  const errors = texts.flatMap((text, index) => validateIpForLegacyField(`${field}[${index}]`, text, known))
  if (texts.length < 2) return errors
  const families = new Set(texts.map(text => parseIpLeniently(text)?.family))
  if (texts.length === 2 && families.size === 2) return errors
  return [...errors, invalid(field, addresses, 'may specify no more than one IP for each IP family')]
}

function validateHostIps(field: string, pod: Pod, old: Pod): FieldError[] {
  const { hostIP = '', hostIPs = [] } = pod.status ?? {}
  const errors = validateIps(field, hostIPs, old.status?.hostIPs ?? [])
  const first = hostIPs[0]?.ip ?? ''
  if (hostIPs.length === 0 || first === hostIP) return errors
  return [invalid(`${field}[0].ip`, first, 'must be equal to `hostIP`'), ...errors]
}

function validateUsers(field: string, statuses: readonly ContainerStatus[], { os }: PodSpec): FieldError[] {
  return statuses.flatMap(({ user }, index) => {
    const place = `${field}[${index}].user.linux`
    if (user?.linux === undefined) return []
    if (os?.name === 'windows') return [forbiddenField(place, 'cannot be set for a windows pod')]
    const linux: Partial<LinuxContainerUser> = user.linux
    const { uid = 0, gid = 0, supplementalGroups = [] } = linux
    return [
      ...invalidEach(`${place}.uid`, uid, checkUserId(uid)),
      ...invalidEach(`${place}.gid`, gid, checkUserId(gid)),
      ...supplementalGroups.flatMap((id, position) => {
        return invalidEach(`${place}.supplementalGroups[${position}]`, id, checkUserId(id))
      }),
    ]
  })
}

/**
 * Validates the health of allocated devices. Ephemeral containers have none, so no spec is passed for them.
 */
function validateAllocations(
  field: string,
  statuses: readonly ContainerStatus[],
  spec: PodSpec | undefined,
): FieldError[] {
  const placed = spec === undefined ? [] : containersOf(spec, '')
  const containers = new Map(placed.map(({ container }) => [container.name, container]))
  return statuses.flatMap(({ name, allocatedResourcesStatus: allocations = [] }, index) => {
    const place = `${field}[${index}].allocatedResourcesStatus`
    if (allocations.length === 0) return []
    if (spec === undefined) return [forbiddenField(place, 'must not be specified in container status')]
    return allocations.flatMap((allocation, position) => [
      ...validateAllocationName(`${place}[${position}].name`, allocation.name ?? '', containers.get(name)),
      ...validateHealth(`${place}[${position}].resources`, allocation),
    ])
  })
}

function validateAllocationName(field: string, name: string, container: Container | undefined): FieldError[] {
  if (container === undefined) return []
  const { claims = [], requests = {} } = container.resources ?? {}
  if (!name.startsWith('claim:')) {
    if (Object.hasOwn(requests, name)) return []
    return [invalid(field, name, "must match one of the container's resource requests")]
  }
  if (claims.some(claim => name === `claim:${claim.name}${claim.request ? `/${claim.request}` : ''}`)) {
    return []
  }
  const detail =
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or " +
    "'claim:<claimName>' if request is empty"
  return [invalid(field, name, detail)]
}

const healthMessageBytesMax = 1024
const healths = ['Healthy', 'Unhealthy', 'Unknown']

function validateHealth(field: string, { resources = [] }: ResourceStatus): FieldError[] {
  const seen = new Set<string>()
  return resources.flatMap(({ health = '', message, resourceID = '' }: Partial<ResourceHealth>, index) => {
    const place = `${field}[${index}]`
    const errors = healths.includes(health) ? [] : [notSupported(`${place}.health`, health, healths)]
    if (message === '') errors.push(required(`${place}.message`, 'must be non-empty if specified'))
    else if (message !== undefined && Buffer.byteLength(message) > healthMessageBytesMax) {
      errors.push(tooLong(`${place}.message`, healthMessageBytesMax))
    }
    if (seen.has(resourceID)) errors.push(duplicate(`${place}.resourceID`, resourceID))
    seen.add(resourceID)
    return errors
  })
}
