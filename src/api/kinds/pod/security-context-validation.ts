/** Validation of security contexts of pods and containers. */
import { enumValues } from '../../definitions.ts'
import { duplicate, invalid, invalidEach, required, tooLong, type FieldError } from '../../field-error.ts'
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  Sysctl,
} from '../../generated/core/v1.ts'
import type { Int64 } from '../../text/int64.ts'
import { checkUserId } from '../../names.ts'
import { validateChoice, validateOptionalChoice } from '../validation/field-checks.ts'
import { validateLocalDescendingPath } from '../validation/paths.ts'
import { validateWindowsOptions } from './windows-validation.ts'

export function validateSecurityContext(
  field: string,
  context: SecurityContext,
  hostUsers: boolean,
): FieldError[] {
  const { runAsUser, runAsGroup, procMount } = context
  const errors = [
    ...validateId(`${field}.runAsUser`, runAsUser),
    ...validateId(`${field}.runAsGroup`, runAsGroup),
    ...validateOptionalChoice(`${field}.procMount`, procMount, enumValues('core.ProcMountType')),
  ]
  if (hostUsers && procMount === 'Unmasked') {
    errors.push(invalid(`${field}.procMount`, procMount, '`hostUsers` must be false to use `Unmasked`'))
  }
  return [
    ...errors,
    ...validateSeccompProfile(`${field}.seccompProfile`, context.seccompProfile),
    ...validateEscalation(field, context),
    ...validateWindowsOptions(`${field}.windowsOptions`, context.windowsOptions),
    ...validateAppArmorProfile(`${field}.appArmorProfile`, context.appArmorProfile),
  ]
}

/** A privileged container, or one with CAP_SYS_ADMIN, always allows privilege escalation. */
function validateEscalation(field: string, context: SecurityContext): FieldError[] {
  const { allowPrivilegeEscalation, privileged, capabilities } = context
  if (allowPrivilegeEscalation !== false) return []
  const refuse = (reason: string): FieldError => {
    return invalid(field, context, `cannot set \`allowPrivilegeEscalation\` to false and ${reason}`)
  }
  const errors = privileged === true ? [refuse('`privileged` to true')] : []
  if (capabilities?.add?.includes('CAP_SYS_ADMIN')) errors.push(refuse('`capabilities.Add` CAP_SYS_ADMIN'))
  return errors
}

export function validatePodSecurityContext(field: string, spec: PodSpec): FieldError[] {
  const context: PodSecurityContext = spec.securityContext ?? {}
  const errors = [
    ...validateId(`${field}.fsGroup`, context.fsGroup),
    ...validateId(`${field}.runAsUser`, context.runAsUser),
    ...validateId(`${field}.runAsGroup`, context.runAsGroup),
    ...(context.supplementalGroups ?? []).flatMap((id, index) => {
      return validateId(`${field}.supplementalGroups[${index}]`, id)
    }),
  ]
  if (spec.hostPID === true && spec.shareProcessNamespace === true) {
    const detail = 'ShareProcessNamespace and HostPID cannot both be enabled'
    errors.push(invalid(`${field}.shareProcessNamespace`, true, detail))
  }
  return [
    ...errors,
    ...validateSysctls(`${field}.sysctls`, context.sysctls ?? [], spec),
    ...validateOptionalChoice(`${field}.fsGroupChangePolicy`, context.fsGroupChangePolicy, groupChanges),
    ...validateSeccompProfile(`${field}.seccompProfile`, context.seccompProfile),
    ...validateWindowsOptions(`${field}.windowsOptions`, context.windowsOptions),
    ...validateAppArmorProfile(`${field}.appArmorProfile`, context.appArmorProfile),
    ...validateOptionalChoice(
      `${field}.supplementalGroupsPolicy`,
      context.supplementalGroupsPolicy,
      groupMerges,
    ),
    ...validateOptionalChoice(`${field}.seLinuxChangePolicy`, context.seLinuxChangePolicy, ['Recursive']),
  ]
}

const groupChanges = enumValues('core.PodFSGroupChangePolicy')
const groupMerges = enumValues('core.SupplementalGroupsPolicy')

function validateId(field: string, id: Int64 | undefined): FieldError[] {
  return id === undefined ? [] : invalidEach(field, id, checkUserId(id))
}

const profileTypes = enumValues('core.SeccompProfileType')

function validateSeccompProfile(field: string, profile: SeccompProfile | undefined): FieldError[] {
  if (profile === undefined) return []
  const { type, localhostProfile } = profile
  const errors = validateProfileType(`${field}.type`, type, 'seccompProfile')
  if (type !== 'Localhost') {
    if (localhostProfile === undefined) return errors
    const detail = 'can only be set when seccomp type is Localhost'
    return [...errors, invalid(`${field}.localhostProfile`, profile, detail)]
  }
  return localhostProfile === undefined
    ? [...errors, required(`${field}.localhostProfile`, 'must be set when seccomp type is Localhost')]
    : [...errors, ...validateLocalDescendingPath(`${field}.localhostProfile`, localhostProfile)]
}

/** Maximum path length on Linux, without the terminating zero. */
const profileBytesMax = 4095

export function validateAppArmorProfile(field: string, profile: AppArmorProfile | undefined): FieldError[] {
  if (profile === undefined) return []
  const { type, localhostProfile: name } = profile
  const place = `${field}.localhostProfile`
  if (type !== 'Localhost') {
    const errors = validateProfileType(`${field}.type`, type, 'appArmorProfile')
    if (name === undefined || errors.length > 0) return errors
    return [invalid(place, name, 'can only be set when AppArmor type is Localhost')]
  }
  if (name === undefined || name === '') {
    return [required(place, 'must be set when AppArmor type is Localhost')]
  }
  const errors: FieldError[] = []
  if (name.trim() !== name) errors.push(invalid(place, name, 'must not be padded with whitespace'))
  if (Buffer.byteLength(name) > profileBytesMax) errors.push(tooLong(place, profileBytesMax))
  return errors
}

function validateProfileType(field: string, type: string | undefined, owner: string): FieldError[] {
  return type
    ? validateChoice(field, type, profileTypes)
    : [required(field, `type is required when ${owner} is set`)]
}

const sysctlCharactersMax = 253
const sysctlPattern = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'

function validateSysctls(field: string, sysctls: readonly Sysctl[], spec: PodSpec): FieldError[] {
  const seen = new Set<string>()
  return sysctls.flatMap(({ name = '' }: Partial<Sysctl>, index) => {
    const place = `${field}[${index}].name`
    const errors: FieldError[] = []
    if (name === '') errors.push(required(place, ''))
    else if (!isSysctlName(name)) {
      const detail = `must have at most ${sysctlCharactersMax} characters and match regex ${sysctlPattern}`
      errors.push(invalid(place, name, detail))
    } else if (seen.has(name)) errors.push(duplicate(place, name))
    seen.add(name)
    const namespace = sysctlNamespace(name)
    if (namespace === 'net' && spec.hostNetwork === true) {
      errors.push(invalid(place, name, "may not be specified when 'hostNetwork' is true"))
    } else if (namespace === 'ipc' && spec.hostIPC === true) {
      errors.push(invalid(place, name, "may not be specified when 'hostIPC' is true"))
    }
    return errors
  })
}

function isSysctlName(name: string): boolean {
  return (
    name.length <= sysctlCharactersMax && !/[^-_./a-z0-9]|^[-_./]|[-_./]$|[-_./][./]|[./][-_./]/.test(name)
  )
}

/**
 * The kernel namespace of a sysctl. Parts may be separated by dots or slashes; the first separator determines
 * which.
 */
function sysctlNamespace(name: string): 'ipc' | 'net' | undefined {
  const separator = /[./]/.exec(name)?.[0]
  const dotted = separator === '/' ? name.replace(/[./]/g, sign => (sign === '/' ? '.' : '/')) : name
  if (dotted.startsWith('net.')) return 'net'
  return /^(?:kernel\.sem$|kernel\.shm|kernel\.msg|fs\.mqueue\.)/.test(dotted) ? 'ipc' : undefined
}
