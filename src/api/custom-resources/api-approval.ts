/**
 * Validation of the API approval annotation, which is required for groups under `k8s.io` and `kubernetes.io`:
 * a URL or a reason starting with "unapproved". https://github.com/kubernetes/enhancements/pull/1111
 */
import { invalid, required, type FieldError } from '../field-error.ts'
import { annotationOf, type KubernetesObject } from '../metadata.ts'
import { quote } from '../text/quote.ts'

const annotation = 'api-approved.kubernetes.io'
const page = 'see https://github.com/kubernetes/enhancements/pull/1111'

export function validateApproval(object: KubernetesObject, group: string): FieldError[] {
  const { reason, message = '' } = apiApprovalOf(object, group) ?? {}
  const field = `metadata.annotations[${annotation}]`
  if (reason === 'MissingAnnotation') return [required(field, message)]
  return reason === 'InvalidAnnotation' ? [invalid(field, annotationOf(object, annotation), message)] : []
}

/** The condition KubernetesAPIApprovalPolicyConformant. */
export interface ApiApproval {
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/** Undefined for groups that need no approval. */
export function apiApprovalOf(object: KubernetesObject, group: string): ApiApproval | undefined {
  if (!/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group)) return undefined
  const text = annotationOf(object, annotation) ?? ''
  const needed = `protected groups must have approval annotation "${annotation}"`
  if (text === '') return { status: 'False', reason: 'MissingAnnotation', message: `${needed}, ${page}` }
  if (text.startsWith('unapproved')) {
    return { status: 'False', reason: 'UnapprovedAnnotation', message: `not approved: ${quote(text)}` }
  }
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]/.test(text)) {
    return { status: 'True', reason: 'ApprovedAnnotation', message: `approved in ${text}` }
  }
  const message = `${needed} with either a URL or a reason starting with "unapproved", ${page}`
  return { status: 'False', reason: 'InvalidAnnotation', message }
}

/** True if the update changes the approval annotation. */
export function isApprovalChanged(object: KubernetesObject, old: KubernetesObject): boolean {
  return annotationOf(object, annotation) !== annotationOf(old, annotation)
}
