/** Rules of IngressClass. */
import { forbiddenField, notSupported, required, tooLong, type FieldError } from '../../field-error.ts'
import type { IngressClass, IngressClassParametersReference } from '../../generated/networking/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { checkPathSegmentName, validateDomainPrefixedPath } from '../../names.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateDnsLabel, validateDnsSubdomain, validateRequiredName } from '../validation/field-checks.ts'
import { withField, withMissing } from '../../copy-on-write.ts'

export const ingressClassRules: KindRules<IngressClass> = {
  withDefaults: ingressClass =>
    withField(ingressClass, 'spec', spec => {
      return withField(spec, 'parameters', parameters => withMissing(parameters, { scope: 'Cluster' }))
    }),
  validate: validateIngressClass,
  validateUpdate: (ingressClass, old) => [
    ...validateImmutable(ingressClass.spec?.controller ?? '', old.spec?.controller ?? '', 'spec.controller'),
    ...validateIngressClass(ingressClass),
  ],
  tracksGeneration: true,
}

const controllerBytesMax = 250

function validateIngressClass({ spec = {} }: IngressClass): FieldError[] {
  const { controller = '', parameters } = spec
  const errors =
    Buffer.byteLength(controller) > controllerBytesMax ? [tooLong('spec.controller', controllerBytesMax)] : []
  return [
    ...errors,
    ...validateDomainPrefixedPath('spec.controller', controller),
    ...(parameters ? validateParameters('spec.parameters', parameters) : []),
  ]
}

function validateParameters(field: string, parameters: IngressClassParametersReference): FieldError[] {
  const { apiGroup, kind, name } = parameters
  return [
    ...(apiGroup === undefined ? [] : validateDnsSubdomain(`${field}.apiGroup`, apiGroup)),
    ...validateRequiredName(`${field}.kind`, kind, checkPathSegmentName),
    ...validateRequiredName(`${field}.name`, name, checkPathSegmentName),
    ...validateScope(field, parameters),
  ]
}

/** A namespaced parameters object requires a namespace; a cluster-scoped one forbids it. */
function validateScope(field: string, { scope, namespace }: IngressClassParametersReference): FieldError[] {
  if (scope === undefined) return [required(`${field}.scope`, '')]
  if (scope === 'Namespace') {
    if (namespace !== undefined) return validateDnsLabel(`${field}.namespace`, namespace)
    return [required(`${field}.namespace`, "`parameters.scope` is set to 'Namespace'")]
  }
  if (scope !== 'Cluster') return [notSupported(`${field}.scope`, scope, ['Cluster', 'Namespace'])]
  if (namespace === undefined) return []
  return [forbiddenField(`${field}.namespace`, "`parameters.scope` is set to 'Cluster'")]
}
