/** Validation of containers, init containers and ephemeral containers. */
import { enumValues } from '../../definitions.ts'
import {
  duplicate,
  forbiddenField,
  invalid,
  invalidEach,
  notFoundField,
  required,
  type FieldError,
} from '../../field-error.ts'
import type { Container, ContainerPort, EphemeralContainer } from '../../generated/core/v1.ts'
import { checkDns1123Label, checkPortName, checkPortNumber } from '../../names.ts'
import { isSidecar } from '../../core/pod-containers.ts'
import { validateEnv, validateEnvFrom } from './env-validation.ts'
import { validateChoice, validatePresent, validateRequiredName } from '../validation/field-checks.ts'
import { validateLifecycle, validateProbes } from './handler-validation.ts'
import { validateContainerResources } from './resource-validation.ts'
import { validateContainerRestart, validateResizePolicy } from './restart-validation.ts'
import { validateSecurityContext } from './security-context-validation.ts'
import type { ContainerContext } from './validation-context.ts'
import { validateVolumeDevices, validateVolumeMounts } from './volume-mount-validation.ts'

export function validateContainers(field: string, context: ContainerContext): FieldError[] {
  const containers = context.spec.containers ?? []
  if (containers.length === 0) return [required(field, '')]
  const names = new Set<string>()
  const hostPorts = new Set<string>()
  return containers.flatMap((container, index) => {
    const place = `${field}[${index}]`
    const errors = validateCommon(place, container, context)
    if (names.has(container.name)) errors.push(duplicate(`${place}.name`, container.name))
    names.add(container.name)
    return [
      ...errors,
      ...validateRunning(place, container, context),
      ...validateContainerRestart(place, container),
      ...validateHostPorts(`${place}.ports`, container.ports ?? [], hostPorts),
    ]
  })
}

export function validateInitContainers(field: string, context: ContainerContext): FieldError[] {
  const { containers, initContainers = [] } = context.spec
  const names = new Set((containers ?? []).map(container => container.name))
  return initContainers.flatMap((container, index) => {
    const place = `${field}[${index}]`
    const errors = [
      ...validateCommon(place, container, context),
      ...validateContainerRestart(place, container),
    ]
    if (container.name && names.has(container.name)) errors.push(duplicate(`${place}.name`, container.name))
    names.add(container.name)
    return [
      ...errors,
      ...validateHostPorts(`${place}.ports`, container.ports ?? [], new Set()),
      ...(isSidecar(container)
        ? validateRunning(place, container, context)
        : validateRunsToEnd(place, container)),
    ]
  })
}

export function validateEphemeralContainers(field: string, context: ContainerContext): FieldError[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = context.spec
  const others = new Set([...(containers ?? []), ...initContainers].map(container => container.name))
  const names = new Set(others)
  return ephemeralContainers.flatMap((container, index) => {
    const { name, targetContainerName: target } = container
    const place = `${field}[${index}]`
    const errors = [...validateCommon(place, container, context), ...validateImageText(place, container)]
    if (names.has(name)) errors.push(duplicate(`${place}.name`, name))
    names.add(name)
    if (target && !others.has(target)) errors.push(notFoundField(`${place}.targetContainerName`, target))
    return [...errors, ...validateDebugOnly(place, container)]
  })
}

/** Checks the image of a pod for surrounding whitespace, which is allowed in templates. */
export function validateImageText(field: string, { image = '' }: Container): FieldError[] {
  if (image.trim() === image) return []
  return [invalid(`${field}.image`, image, 'must not have leading or trailing whitespace')]
}

const pullPolicies = enumValues('core.PullPolicy')
const messagePolicies = ['File', 'FallbackToLogsOnError']

function validateCommon(field: string, container: Container, context: ContainerContext): FieldError[] {
  const { spec, volumes, claims } = context
  const { securityContext } = container
  return [
    ...validateRequiredName(`${field}.name`, container.name, checkDns1123Label),
    ...validatePresent(`${field}.image`, container.image),
    ...validateChoice(
      `${field}.terminationMessagePolicy`,
      container.terminationMessagePolicy,
      messagePolicies,
    ),
    ...validatePorts(`${field}.ports`, container.ports ?? []),
    ...validateEnv(`${field}.env`, container.env),
    ...validateEnvFrom(`${field}.envFrom`, container.envFrom),
    ...validateVolumeMounts(`${field}.volumeMounts`, container, volumes),
    ...validateVolumeDevices(`${field}.volumeDevices`, container, volumes),
    ...validateChoice(`${field}.imagePullPolicy`, container.imagePullPolicy, pullPolicies),
    ...validateContainerResources(`${field}.resources`, container.resources ?? {}, claims),
    ...validateResizePolicy(`${field}.resizePolicy`, container.resizePolicy, spec.restartPolicy),
    ...(securityContext
      ? validateSecurityContext(`${field}.securityContext`, securityContext, spec.hostUsers !== false)
      : []),
  ]
}

/** Validates lifecycle hooks and probes. */
function validateRunning(field: string, container: Container, { spec }: ContainerContext): FieldError[] {
  const { lifecycle } = container
  return [
    ...(lifecycle
      ? validateLifecycle(`${field}.lifecycle`, lifecycle, spec.terminationGracePeriodSeconds)
      : []),
    ...validateProbes(field, container),
  ]
}

/** Init containers that are not sidecars must not have lifecycle hooks or probes. */
function validateRunsToEnd(field: string, container: Container): FieldError[] {
  const refused = (['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const).filter(
    name => container[name] !== undefined,
  )
  const errors = refused.map(name => {
    return forbiddenField(
      `${field}.${name}`,
      'may not be set for init containers without restartPolicy=Always',
    )
  })
  for (const [index, { restartPolicy }] of (container.resizePolicy ?? []).entries()) {
    if (restartPolicy !== 'RestartContainer') continue
    const detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
    errors.push(invalid(`${field}.resizePolicy[${index}].restartPolicy`, restartPolicy, detail))
  }
  return errors
}

/** Ephemeral containers must not have ports, probes, lifecycle hooks, resources or restart policies. */
function validateDebugOnly(field: string, container: EphemeralContainer): FieldError[] {
  const detail = 'cannot be set for an Ephemeral Container'
  const refused = (
    [
      'ports',
      'livenessProbe',
      'readinessProbe',
      'startupProbe',
      'lifecycle',
      'resizePolicy',
      'restartPolicy',
      'restartPolicyRules',
    ] as const
  ).filter(name => container[name] !== undefined)
  const errors = refused.map(name => forbiddenField(`${field}.${name}`, detail))
  if (Object.keys(container.resources ?? {}).length > 0) {
    errors.push(forbiddenField(`${field}.resources`, detail))
  }
  for (const [index, { subPath, subPathExpr }] of (container.volumeMounts ?? []).entries()) {
    if (subPath) errors.push(forbiddenField(`${field}.volumeMounts[${index}].subPath`, detail))
    if (subPathExpr) errors.push(forbiddenField(`${field}.volumeMounts[${index}].subPathExpr`, detail))
  }
  return errors
}

function validatePorts(field: string, ports: readonly ContainerPort[]): FieldError[] {
  const names = new Set<string>()
  return ports.flatMap(({ name, containerPort, hostPort, protocol }, index) => {
    const place = `${field}[${index}]`
    const errors = name ? invalidEach(`${place}.name`, name, checkPortName(name)) : []
    if (name && names.has(name)) errors.push(duplicate(`${place}.name`, name))
    if (name) names.add(name)
    if (!containerPort) errors.push(required(`${place}.containerPort`, ''))
    else errors.push(...invalidEach(`${place}.containerPort`, containerPort, checkPortNumber(containerPort)))
    if (hostPort) errors.push(...invalidEach(`${place}.hostPort`, hostPort, checkPortNumber(hostPort)))
    return [...errors, ...validateChoice(`${place}.protocol`, protocol, enumValues('core.Protocol'))]
  })
}

/** Reports host ports that are already taken and records the new ones. */
function validateHostPorts(field: string, ports: readonly ContainerPort[], taken: Set<string>): FieldError[] {
  return ports.flatMap(({ hostPort, hostIP, protocol }, index) => {
    if (!hostPort) return []
    const port = `${protocol ?? ''}/${hostIP ?? ''}/${hostPort}`
    if (taken.has(port)) return [duplicate(`${field}[${index}].hostPort`, port)]
    taken.add(port)
    return []
  })
}
