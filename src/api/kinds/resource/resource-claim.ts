/**
 * Rules of ResourceClaim and ResourceClaimTemplate. Admin access depends on the namespace and is checked by
 * the API server. https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
 */
import { forbiddenField, type FieldError } from '../../field-error.ts'
import type {
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimStatus,
  ResourceClaimTemplate,
} from '../../generated/resource/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateLabels } from '../../labels.ts'
import { validateAnnotations, validateImmutable } from '../../validate-metadata.ts'
import { mapCopyOnWrite, withField } from '../../copy-on-write.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateClaimStatus, withoutReleasedDevices } from './claim-status.ts'
import { validateDeviceClaim, withClaimDefaults, withTolerationDefaults } from './device-claim.ts'

export const resourceClaimRules: KindRules<ResourceClaim> = {
  statusKeepsMetadata: true,
  returnDeletedObject: true,
  withDefaults: claim => withField(withField(claim, 'spec', withSpecDefaults), 'status', withStatusDefaults),
  prepareForStatusUpdate: withoutReleasedDevices,
  validate: validateClaim,
  validateUpdate: (claim, old) => validateImmutable(claim.spec, old.spec, 'spec'),
  validateStatusUpdate: validateClaimStatus,
}

export const resourceClaimTemplateRules: KindRules<ResourceClaimTemplate> = {
  returnDeletedObject: true,
  withDefaults: template => withField(template, 'spec', spec => withField(spec, 'spec', withSpecDefaults)),
  validate: validateTemplate,
  validateUpdate: (template, old) => [
    ...validateTemplate(template),
    ...validateImmutable(template.spec, old.spec, 'spec'),
  ],
}

function withSpecDefaults(spec: ResourceClaimSpec): ResourceClaimSpec {
  return withField(spec, 'devices', withClaimDefaults)
}

function withStatusDefaults(status: ResourceClaimStatus): ResourceClaimStatus {
  return withField(status, 'allocation', allocation =>
    withField(allocation, 'devices', devices =>
      withField(devices, 'results', results => mapCopyOnWrite(results, withTolerationDefaults)),
    ),
  )
}

function validateClaim({ spec = {} }: Unchecked<ResourceClaim>): FieldError[] {
  return validateDeviceClaim('spec.devices', spec.devices ?? {})
}

function validateTemplate({ spec = {} }: Unchecked<ResourceClaimTemplate>): FieldError[] {
  const { metadata = {} } = spec
  const { labels, annotations = {}, ...others } = metadata
  return [
    ...validateAnnotations(annotations, 'spec.metadata.annotations'),
    ...validateLabels('spec.metadata.labels', labels),
    ...Object.keys(others).map(name => forbiddenField(`spec.metadata.${name}`, 'cannot be set')),
    ...validateDeviceClaim('spec.spec.devices', spec.spec?.devices ?? {}),
  ]
}
