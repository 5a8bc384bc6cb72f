/** Validation of pod annotations with a meaning, most of which have been replaced by fields. */
import { forbiddenField, invalid, type FieldError } from '../../field-error.ts'
import type { PodSpec, SeccompProfile } from '../../generated/core/v1.ts'
import type { ObjectMeta } from '../../metadata.ts'
import { quote } from '../../text/quote.ts'
import { isInt32, parseInt64 } from '../../text/int64.ts'
import { containersOf } from '../../core/pod-containers.ts'
import { validateLocalDescendingPath } from '../validation/paths.ts'
import { mirrorAnnotation } from './validation-context.ts'

type Annotations = Readonly<Record<string, string>>

export const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/'
export const seccompPodKey = 'seccomp.security.alpha.kubernetes.io/pod'
export const seccompContainerPrefix = 'container.seccomp.security.alpha.kubernetes.io/'
const deletionCostKey = 'controller.kubernetes.io/pod-deletion-cost'

export function validatePodAnnotations(field: string, annotations: Annotations, spec: PodSpec): FieldError[] {
  const errors: FieldError[] = []
  const mirror = annotations[mirrorAnnotation]
  if (mirror !== undefined && !spec.nodeName) {
    const detail = 'must set spec.nodeName if mirror pod annotation is set'
    errors.push(invalid(`${field}[${mirrorAnnotation}]`, mirror, detail))
  }
  const cost = annotations[deletionCostKey]
  if (cost !== undefined && !isDeletionCost(cost)) {
    errors.push(invalid(`${field}[${deletionCostKey}]`, cost, 'must be a 32bit integer'))
  }
  const names = new Set(containersOf(spec, '').map(({ container }) => container.name))
  for (const [key, value] of Object.entries(annotations)) {
    if (key === seccompPodKey || key.startsWith(seccompContainerPrefix)) {
      errors.push(...validateSeccompValue(`${field}.${key}`, value))
    } else if (key.startsWith(appArmorPrefix)) {
      const container = key.slice(appArmorPrefix.length)
      if (!names.has(container)) errors.push(invalid(`${field}[${key}]`, container, 'container not found'))
      errors.push(...validateAppArmorValue(`${field}[${key}]`, value))
    }
  }
  return errors
}

/** The AppArmor and mirror pod annotations are immutable. */
export function validatePodAnnotationsUpdate(
  field: string,
  after: Annotations,
  old: Annotations,
): FieldError[] {
  const keys = new Set([...Object.keys(old), ...Object.keys(after)])
  return [...keys].flatMap(key => {
    const isAppArmor = key.startsWith(appArmorPrefix)
    if ((!isAppArmor && key !== mirrorAnnotation) || old[key] === after[key]) return []
    const action = old[key] === undefined ? 'add' : 'remove or update'
    const subject = isAppArmor ? 'AppArmor annotations' : 'mirror pod annotation'
    return [forbiddenField(`${field}[${key}]`, `may not ${action} ${subject}`)]
  })
}

/** If both an annotation and the field that replaced it are set, they must agree. */
export function validateProfilesMatch(
  field: string,
  metadata: ObjectMeta | undefined,
  spec: PodSpec,
): FieldError[] {
  const { annotations } = metadata ?? {}
  if (annotations === undefined) return []
  const { seccompProfile, appArmorProfile } = spec.securityContext ?? {}
  const errors = compareSeccomp(
    `${field}.securityContext.seccompProfile`,
    annotations[seccompPodKey],
    seccompProfile,
  )
  for (const { container, field: place } of containersOf(spec, field)) {
    const own = container.securityContext
    const seccomp = annotations[seccompContainerPrefix + container.name]
    errors.push(...compareSeccomp(`${place}.securityContext.seccompProfile`, seccomp, own?.seccompProfile))
    if (spec.os?.name === 'windows') continue
    const appArmor = annotations[appArmorPrefix + container.name]
    const profile = own?.appArmorProfile ?? appArmorProfile
    errors.push(
      ...compareProfiles(`${place}.securityContext.appArmorProfile`, 'apparmor', {
        profile,
        annotation: appArmor,
        runtimeDefaults: ['runtime/default'],
      }),
    )
  }
  return errors
}

function isDeletionCost(text: string): boolean {
  // A leading plus sign or zero is rejected, as in Kubernetes, since such values would sort unexpectedly.
  return !/^\+|^0[0-9]/.test(text) && isInt32(parseInt64(text))
}

function validateSeccompValue(field: string, value: string): FieldError[] {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(value)) return []
  if (value.startsWith('localhost/'))
    return validateLocalDescendingPath(field, value.slice('localhost/'.length))
  return [invalid(field, value, 'must be a valid seccomp profile')]
}

function validateAppArmorValue(field: string, value: string): FieldError[] {
  if (['', 'runtime/default', 'unconfined'].includes(value) || value.startsWith('localhost/')) return []
  return [invalid(field, value, `invalid AppArmor profile name: ${quote(value)}`)]
}

function compareSeccomp(
  field: string,
  annotation: string | undefined,
  profile: SeccompProfile | undefined,
): FieldError[] {
  const runtimeDefaults = ['runtime/default', 'docker/default']
  return compareProfiles(field, 'seccomp', { profile, annotation, runtimeDefaults })
}

interface Comparison {
  readonly profile: SeccompProfile | undefined
  readonly annotation: string | undefined
  /** Annotation values that mean `RuntimeDefault`. */
  readonly runtimeDefaults: readonly string[]
}

function compareProfiles(field: string, subject: string, comparison: Comparison): FieldError[] {
  const { profile, annotation, runtimeDefaults } = comparison
  if (profile === undefined || annotation === undefined) return []
  const { type, localhostProfile } = profile
  const isLocal = annotation.startsWith('localhost/')
  const differs =
    (type === 'Unconfined' && annotation !== 'unconfined') ||
    (type === 'RuntimeDefault' && !runtimeDefaults.includes(annotation)) ||
    (type === 'Localhost' && !isLocal)
  if (differs) return [forbiddenField(`${field}.type`, `${subject} type in annotation and field must match`)]
  if (type !== 'Localhost' || annotation === `localhost/${localhostProfile}`) return []
  return [
    forbiddenField(`${field}.localhostProfile`, `${subject} profile in annotation and field must match`),
  ]
}
