/** Validation specific to an operating system. */
import {
  forbiddenField,
  invalid,
  invalidEach,
  notSupported,
  required,
  type FieldError,
} from '../../field-error.ts'
import type { PodSpec, WindowsSecurityContextOptions } from '../../generated/core/v1.ts'
import { checkDns1123Subdomain } from '../../names.ts'
import { containersOf } from '../../core/pod-containers.ts'

/** Rejects fields that are not supported on the OS of the pod. */
export function validateOs(field: string, spec: PodSpec): FieldError[] {
  if (spec.os === undefined) return []
  const { name } = spec.os
  if (!name) return [required(`${field}.os.name`, '')]
  if (name === 'linux') return validateLinux(field, spec)
  return name === 'windows'
    ? validateWindows(field, spec)
    : [notSupported(`${field}.os`, name, ['linux', 'windows'])]
}

function validateLinux(field: string, spec: PodSpec): FieldError[] {
  const places = containersOf(spec, field).filter(each => each.container.securityContext?.windowsOptions)
  const fields = places.map(each => each.field)
  if (spec.securityContext?.windowsOptions) fields.unshift(field)
  return fields.map(place => {
    return forbiddenField(
      `${place}.securityContext.windowsOptions`,
      'windows options cannot be set for a linux pod',
    )
  })
}

function validateWindows(field: string, spec: PodSpec): FieldError[] {
  const { hostUsers, hostPID, hostIPC, shareProcessNamespace } = spec
  return [
    ...refused(field, { hostUsers, hostPID: hostPID || undefined, hostIPC: hostIPC || undefined }),
    ...refused(field, { shareProcessNamespace }),
    ...refused(`${field}.securityContext`, pick(spec.securityContext, linuxPodFields)),
    ...containersOf(spec, field).flatMap(({ container, field: place }) => {
      return refused(`${place}.securityContext`, pick(container.securityContext, linuxContainerFields))
    }),
  ]
}

const linuxPodFields = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const
const linuxContainerFields = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const

function pick<T extends object, K extends keyof T>(
  object: T | undefined,
  names: readonly K[],
): Partial<Pick<T, K>> {
  const picked: Partial<Pick<T, K>> = {}
  if (object !== undefined) for (const name of names) picked[name] = object[name]
  return picked
}

function refused(field: string, values: Readonly<Record<string, unknown>>): FieldError[] {
  const present = Object.entries(values).filter(([, value]) => value !== undefined)
  return present.map(([name]) => forbiddenField(`${field}.${name}`, 'cannot be set for a windows pod'))
}

/** If one container is a HostProcess container, all must be. */
export function validateHostProcess(field: string, spec: PodSpec): FieldError[] {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess
  const containers = containersOf(spec, field)
  const errors: FieldError[] = []
  let count = 0
  for (const { container, field: place } of containers) {
    const own = container.securityContext?.windowsOptions?.hostProcess
    if (ofPod !== undefined && own !== undefined && ofPod !== own) {
      const detail = `pod hostProcess value must be identical if both are specified, was ${ofPod}`
      errors.push(invalid(`${place}.securityContext.windowsOptions.hostProcess`, own, detail))
    }
    if (own ?? ofPod) count++
  }
  if (count === 0) return errors
  if (count !== containers.length) {
    const detail =
      'If pod contains any hostProcess containers then all containers must be HostProcess containers'
    errors.push(invalid(field, '', detail))
  }
  if (spec.hostNetwork !== true) {
    const detail = 'hostNetwork must be true if pod contains any hostProcess containers'
    errors.push(invalid(`${field}.hostNetwork`, false, detail))
  }
  return errors
}

const credentialSpecKibMax = 64

export function validateWindowsOptions(
  field: string,
  options: WindowsSecurityContextOptions | undefined,
): FieldError[] {
  if (options === undefined) return []
  const { gmsaCredentialSpecName: specName, gmsaCredentialSpec: spec, runAsUserName } = options
  const errors =
    specName === undefined
      ? []
      : invalidEach(`${field}.gmsaCredentialSpecName`, specName, checkDns1123Subdomain(specName))
  if (spec === '') {
    errors.push(invalid(`${field}.gmsaCredentialSpec`, spec, 'gmsaCredentialSpec cannot be an empty string'))
  } else if (spec !== undefined && Buffer.byteLength(spec) > credentialSpecKibMax * 1024) {
    const detail = `gmsaCredentialSpec size must be under ${credentialSpecKibMax} KiB`
    errors.push(invalid(`${field}.gmsaCredentialSpec`, spec, detail))
  }
  if (runAsUserName === undefined) return errors
  const problems = userNameProblems(runAsUserName).map(problem => `runAsUserName${problem}`)
  return [...errors, ...invalidEach(`${field}.runAsUserName`, runAsUserName, problems)]
}

const domainCharactersMax = 256
const userCharactersMax = 104

/** Error messages for a user name such as `DOMAIN\user`. */
function userNameProblems(name: string): string[] {
  if (name === '') return [' cannot be an empty string']
  // oxlint-disable-next-line no-control-regex
  if (/[\x00-\x1f\x7f]/.test(name)) return [' cannot contain control characters']
  const parts = name.split('\\')
  if (parts.length > 2) return [' cannot contain more than one backslash']
  const user = parts.at(-1) ?? ''
  const domain = parts.length === 2 ? parts[0] : undefined
  const problems: string[] = []
  if (domain !== undefined && domain.length >= domainCharactersMax) {
    problems.push(`'s Domain length must be under ${domainCharactersMax} characters`)
  }
  if (domain !== undefined && !isDomain(domain)) {
    problems.push("'s Domain doesn't match the NetBios nor the DNS format")
  }
  if (user === '') problems.push("'s User cannot be empty")
  else if (user.length > userCharactersMax) {
    problems.push(`'s User length must not be longer than ${userCharactersMax} characters`)
  }
  if (/^[. ]+$/.test(user)) problems.push("'s User cannot contain only periods or spaces")
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    problems.push(`'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]`)
  }
  return problems
}

function isDomain(domain: string): boolean {
  if (/^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/.test(domain)) return true
  return domain.split('.').every(label => /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/.test(label))
}
