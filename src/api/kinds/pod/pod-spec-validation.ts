/** Validation of the pod spec, in a pod or in a template. */
import {
  duplicate,
  forbiddenField,
  invalid,
  invalidEach,
  notFoundField,
  required,
  type FieldError,
} from '../../field-error.ts'
import type { PodResourceClaim, PodSpec, Volume } from '../../generated/core/v1.ts'
import { int32Max } from '../../text/int64.ts'
import { validateLabels } from '../../labels.ts'
import { checkDns1123Label, checkDns1123Subdomain, checkInRange } from '../../names.ts'
import { validateAffinity } from './affinity-validation.ts'
import { containersOf } from '../../core/pod-containers.ts'
import {
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from './container-validation.ts'
import { validateChoice, validateRequiredName } from '../validation/field-checks.ts'
import {
  validateDnsConfig,
  validateDnsPolicy,
  validateHostAliases,
  validateHostname,
} from './dns-validation.ts'
import { validateOverhead, validatePodResources } from './resource-validation.ts'
import { validatePodRestartPolicy } from './restart-validation.ts'
import {
  validateReadinessGates,
  validateSchedulingGates,
  validateTolerations,
  validateTopologySpread,
} from './scheduling-validation.ts'
import { validatePodSecurityContext } from './security-context-validation.ts'
import { isMirrorPod, type ContainerContext, type SpecContext } from './validation-context.ts'
import { validateVolumes } from './volume-validation.ts'
import { validateHostProcess, validateOs } from './windows-validation.ts'

export function validatePodSpec(field: string, spec: PodSpec, context: SpecContext): FieldError[] {
  const { errors: volumeErrors, volumes } = validateVolumes(`${field}.volumes`, spec.volumes ?? [], context)
  const resourceClaims = spec.resourceClaims ?? []
  const claims = new Set(resourceClaims.flatMap(({ name }) => (name ? [name] : [])))
  const containerContext: ContainerContext = { spec, volumes, claims }
  const graceErrors =
    spec.terminationGracePeriodSeconds === undefined
      ? [required(`${field}.terminationGracePeriodSeconds`, '')]
      : []
  return [
    ...graceErrors,
    ...volumeErrors,
    ...validateResourceClaims(`${field}.resourceClaims`, resourceClaims, context),
    ...validateContainers(`${field}.containers`, containerContext),
    ...validateInitContainers(`${field}.initContainers`, containerContext),
    ...validateEphemeralContainers(`${field}.ephemeralContainers`, containerContext),
    ...validatePodResources(`${field}.resources`, spec, claims),
    ...validateHost(field, spec, context),
    ...validatePodRestartPolicy(`${field}.restartPolicy`, spec.restartPolicy),
    ...validatePodSecurityContext(`${field}.securityContext`, spec),
    ...validateScheduling(field, spec),
    ...validateNames(field, spec),
    ...validateHostProcess(field, spec),
    ...validateActiveDeadline(`${field}.activeDeadlineSeconds`, spec),
    ...(spec.overhead ? validateOverhead(`${field}.overhead`, spec.overhead) : []),
    ...validateOs(field, spec),
    ...validateFileKeyVolumes(field, spec),
  ]
}

function validateScheduling(field: string, spec: PodSpec): FieldError[] {
  const { affinity, preemptionPolicy } = spec
  const policies = ['PreemptLowerPriority', 'Never']
  return [
    ...validateLabels(`${field}.nodeSelector`, spec.nodeSelector),
    ...(affinity ? validateAffinity(`${field}.affinity`, affinity) : []),
    ...validateReadinessGates(`${field}.readinessGates`, spec.readinessGates ?? []),
    ...validateSchedulingGates(`${field}.schedulingGates`, spec.schedulingGates ?? []),
    ...validateTopologySpread(`${field}.topologySpreadConstraints`, spec.topologySpreadConstraints ?? []),
    ...validateTolerations(`${field}.tolerations`, spec.tolerations ?? []),
    ...(preemptionPolicy === undefined
      ? []
      : validateChoice(`${field}.preemptionPolicy`, preemptionPolicy, policies)),
  ]
}

/** Names of referenced objects, hostname and subdomain. */
function validateNames(field: string, spec: PodSpec): FieldError[] {
  const subdomains = (['serviceAccountName', 'nodeName', 'priorityClassName'] as const).flatMap(name => {
    const value = spec[name]
    return value ? invalidEach(`${field}.${name}`, value, checkDns1123Subdomain(value)) : []
  })
  const { runtimeClassName } = spec
  return [
    ...validateDnsPolicy(`${field}.dnsPolicy`, spec.dnsPolicy),
    ...validateDnsConfig(`${field}.dnsConfig`, spec),
    ...validateHostname(field, spec),
    ...validateHostAliases(`${field}.hostAliases`, spec.hostAliases ?? []),
    ...subdomains,
    ...(runtimeClassName === undefined
      ? []
      : invalidEach(`${field}.runtimeClassName`, runtimeClassName, checkDns1123Subdomain(runtimeClassName))),
  ]
}

/** Validation of host namespaces and user namespaces. */
function validateHost(field: string, spec: PodSpec, { pod }: SpecContext): FieldError[] {
  const errors: FieldError[] = []
  if (spec.hostNetwork === true) {
    errors.push(...validatePortsOfHost(`${field}.containers`, spec, pod !== undefined))
  }
  if (spec.hostUsers !== false) return errors
  const detail = 'when `hostUsers` is false'
  if (spec.hostNetwork === true) errors.push(forbiddenField(`${field}.hostNetwork`, detail))
  if (spec.hostPID === true) errors.push(forbiddenField(`${field}.HostPID`, detail))
  if (spec.hostIPC === true) errors.push(forbiddenField(`${field}.HostIPC`, detail))
  const withDevices = containersOf(spec, field).filter(({ container }) => container.volumeDevices?.length)
  return [
    ...errors,
    ...withDevices.map(({ field: place }) => forbiddenField(`${place}.volumeDevices`, detail)),
  ]
}

/** With `hostNetwork`, the host port must equal the container port; a template may omit it. */
function validatePortsOfHost(
  field: string,
  { containers = [] }: Partial<PodSpec>,
  isPod: boolean,
): FieldError[] {
  return containers.flatMap(({ ports = [] }, index) =>
    ports.flatMap(({ hostPort = 0, containerPort }, position) => {
      if (hostPort === containerPort || (hostPort === 0 && !isPod)) return []
      const detail = 'must match `containerPort` when `hostNetwork` is true'
      return [invalid(`${field}[${index}].ports[${position}].hostPort`, hostPort, detail)]
    }),
  )
}

function validateActiveDeadline(field: string, { activeDeadlineSeconds: seconds }: PodSpec): FieldError[] {
  return seconds === undefined ? [] : invalidEach(field, seconds, checkInRange(seconds, 1, int32Max))
}

function validateResourceClaims(
  field: string,
  claims: readonly PodResourceClaim[],
  { pod }: SpecContext,
): FieldError[] {
  if (claims.length > 0 && isMirrorPod(pod)) {
    return [forbiddenField('', 'static pods do not support resource claims')]
  }
  const names = new Set<string>()
  return claims.flatMap(({ name, resourceClaimName: ready, resourceClaimTemplateName: template }, index) => {
    const place = `${field}[${index}]`
    // Messages show the names of Kubernetes' internal type.
    const shown = {
      Name: name ?? '',
      ResourceClaimName: ready ?? null,
      ResourceClaimTemplateName: template ?? null,
    }
    const errors = names.has(name)
      ? [duplicate(`${place}.name`, name)]
      : validateRequiredName(`${place}.name`, name, checkDns1123Label)
    if (name) names.add(name)
    if (ready !== undefined && template !== undefined) {
      const detail = 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'
      errors.push(invalid(place, shown, detail))
    }
    if (ready === undefined && template === undefined) {
      errors.push(
        invalid(place, shown, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'),
      )
    }
    if (ready !== undefined) {
      errors.push(...invalidEach(`${place}.resourceClaimName`, ready, checkDns1123Subdomain(ready)))
    }
    if (template === undefined) return errors
    return [
      ...errors,
      ...invalidEach(`${place}.resourceClaimTemplateName`, template, checkDns1123Subdomain(template)),
    ]
  })
}

/** A `fileKeyRef` must reference an emptyDir volume. */
function validateFileKeyVolumes(field: string, spec: PodSpec): FieldError[] {
  const volumes = new Map<string, Volume>((spec.volumes ?? []).map(volume => [volume.name, volume]))
  return containersOf(spec, field).flatMap(({ container, field: place }) => {
    return (container.env ?? []).flatMap(({ valueFrom }, index) => {
      const name = valueFrom?.fileKeyRef?.volumeName
      if (name === undefined) return []
      const nameField = `${place}.env[${index}].valueFrom.fileKeyRef.volumeName`
      const volume = volumes.get(name)
      if (volume === undefined) return [notFoundField(nameField, name)]
      return volume.emptyDir ? [] : [invalid(nameField, name, 'referenced volume must be of type emptyDir')]
    })
  })
}
