/**
 * Validation of the API approval annotation, which is required for groups under `k8s.io` and `kubernetes.io`:
 * a URL or a reason starting with "unapproved". https://github.com/kubernetes/enhancements/pull/1111
 */
import { invalid, required, type FieldError } from '../../field-error.ts'
import { annotationOf, type KubernetesObject } from '../../metadata.ts'

const annotation = 'api-approved.kubernetes.io'
const page = 'see https://github.com/kubernetes/enhancements/pull/1111'

export function validateApproval(object: KubernetesObject, group: string): FieldError[] {
  const text = annotationOf(object, annotation) ?? ''
  const field = `metadata.annotations[${annotation}]`
  if (!/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group)) return []
  if (text === '') {
    return [required(field, `protected groups must have approval annotation "${annotation}", ${page}`)]
  }
  if (text.startsWith('unapproved') || /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]/.test(text)) return []
  const detail =
    `protected groups must have approval annotation "${annotation}" with either a URL or a ` +
    `reason starting with "unapproved", ${page}`
  return [invalid(field, text, detail)]
}

/** True if the update changes the approval annotation. */
export function isApprovalChanged(object: KubernetesObject, old: KubernetesObject): boolean {
  return annotationOf(object, annotation) !== annotationOf(old, annotation)
}
