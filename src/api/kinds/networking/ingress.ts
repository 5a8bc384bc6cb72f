/** Rules of Ingress. https://kubernetes.io/docs/concepts/services-networking/ingress/ */
import { invalid, type FieldError } from '../../field-error.ts'
import type { Ingress } from '../../generated/networking/v1.ts'
import { validateIpForLegacyField } from '../../net/ip.ts'
import type { KindRules } from '../../kind-rules.ts'
import { annotationOf } from '../../metadata.ts'
import { validateBalancerHostname } from '../validation/field-checks.ts'
import { strictOptions, validationOptionsOf, validateIngressSpec } from './ingress-validation.ts'

export const ingressRules: KindRules<Ingress> = {
  prepareForCreate: ingress => ({ ...ingress, status: { loadBalancer: {} } }),
  validate: ingress => [
    ...validateIngressSpec(ingress.spec ?? {}, strictOptions),
    ...validateClassAnnotation(ingress),
  ],
  validateUpdate: (ingress, old) =>
    validateIngressSpec(ingress.spec ?? {}, validationOptionsOf(old.spec ?? {})),
  validateStatusUpdate: validateStatus,
  warnings: (ingress, old) => (old ? [] : warningsForIngress(ingress)),
  tracksGeneration: true,
}

/** Legacy annotation for the ingress class. */
const classAnnotation = 'kubernetes.io/ingress.class'

function validateClassAnnotation(ingress: Ingress): FieldError[] {
  const annotation = annotationOf(ingress, classAnnotation)
  const name = ingress.spec?.ingressClassName
  if (annotation === undefined || name === undefined || annotation === name) return []
  const detail = 'must match `ingressClassName` when both are specified'
  return [invalid(`annotations.${classAnnotation}`, annotation, detail)]
}

function validateStatus({ status }: Ingress, old: Ingress): FieldError[] {
  const known = new Set(old.status?.loadBalancer?.ingress?.flatMap(each => each.ip ?? []))
  return (
    status?.loadBalancer?.ingress?.flatMap(({ ip, hostname }, index) => {
      const field = `status.loadBalancer.ingress[${index}]`
      return [
        ...(ip && !known.has(ip) ? validateIpForLegacyField(`${field}.ip`, ip) : []),
        ...validateBalancerHostname(`${field}.hostname`, hostname),
      ]
    }) ?? []
  )
}

function warningsForIngress(ingress: Ingress): string[] {
  const hasField = ingress.spec?.ingressClassName !== undefined
  if (hasField || annotationOf(ingress, classAnnotation) === undefined) return []
  return [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`]
}
