/** Validation of Pod. */
import { forbiddenField, type FieldError } from '../../field-error.ts'
import type { Pod, PodSpec } from '../../generated/core/v1.ts'
import { validateImageText } from './container-validation.ts'
import { validatePodAnnotations, validateProfilesMatch } from './pod-annotation-validation.ts'
import { validatePodSpec } from './pod-spec-validation.ts'

export function validatePodCreate(pod: Pod): FieldError[] {
  const spec = specOf(pod)
  const errors = validatePod(pod)
  if (spec.ephemeralContainers?.length) {
    errors.push(forbiddenField('spec.ephemeralContainers', 'cannot be set on create'))
  }
  if (spec.nodeName && spec.schedulingGates?.length) {
    errors.push(forbiddenField('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'))
  }
  return [...errors, ...validateProfilesMatch('spec', pod.metadata, spec)]
}

/** Validation common to creation and updates. */
export function validatePod(pod: Pod): FieldError[] {
  const { metadata } = pod
  const spec = specOf(pod)
  return [
    ...validatePodAnnotations('metadata.annotations', metadata.annotations ?? {}, spec),
    ...validatePodSpec('spec', spec, { pod: metadata }),
    ...validateTokens(spec),
    ...(spec.containers ?? []).flatMap((each, index) => validateImageText(`spec.containers[${index}]`, each)),
    ...(spec.initContainers ?? []).flatMap((each, index) => {
      return validateImageText(`spec.initContainers[${index}]`, each)
    }),
  ]
}

export function specOf(pod: Pod): PodSpec {
  return pod.spec ?? { containers: [] }
}

/** A service account token volume requires a service account name. */
function validateTokens({ serviceAccountName, volumes }: PodSpec): FieldError[] {
  if (serviceAccountName) return []
  return (volumes ?? []).flatMap(({ projected }, index) =>
    (projected?.sources ?? []).flatMap((source, position) => {
      if (source.serviceAccountToken === undefined) return []
      const place = `spec.volumes[${index}].projected.sources[${position}].serviceAccountToken`
      return [forbiddenField(place, 'must not be specified when serviceAccountName is not set')]
    }),
  )
}
