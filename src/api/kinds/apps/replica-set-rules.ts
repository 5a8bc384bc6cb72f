/** Rules of ReplicaSet. */
import type { FieldError } from '../../field-error.ts'
import type { ReplicaSet, ReplicaSetStatus } from '../../generated/apps/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateNonNegative } from '../validation/field-checks.ts'
import { withPodTemplateDefaults } from '../pod/pod-defaults.ts'
import { prepareTemplate } from '../pod/pod-preparation.ts'
import { namesOfPods, warningsForName, warningsForTemplate } from '../pod/pod-warnings.ts'
import { validateReplicaCounts } from '../validation/replica-counts.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withField, withMissing } from '../../copy-on-write.ts'
import { validateReplicaTemplate, validateSelectorUnchanged } from './replicas-validation.ts'

export const replicaSetRules: KindRules<ReplicaSet> = {
  emptyObject: { spec: { replicas: 0 } },
  tracksGeneration: true,
  withDefaults: object =>
    withField(object, 'spec', spec => {
      return withField(withMissing(spec, { replicas: 1, template: {} }), 'template', withPodTemplateDefaults)
    }),
  prepareForCreate: object => ({ ...withPreparedTemplate(object), status: { replicas: 0 } }),
  prepareForUpdate: withPreparedTemplate,
  validate: validateReplicaSet,
  validateUpdate: (object, old) => [
    ...validateReplicaSet(object),
    ...validateSelectorUnchanged(object.spec?.selector, old.spec?.selector),
  ],
  validateStatusUpdate: object => validateStatus(object.status ?? { replicas: 0 }),
  warnings(object, old) {
    if (old !== undefined && semanticEqual(object.spec, old.spec)) return []
    const ofName = old === undefined ? warningsForName(object.metadata.name, namesOfPods) : []
    return [...ofName, ...warningsForTemplate('spec.template', object.spec?.template)]
  },
}

function withPreparedTemplate(object: ReplicaSet): ReplicaSet {
  return withField(object, 'spec', spec => withField(spec, 'template', prepareTemplate))
}

function validateReplicaSet({ spec }: ReplicaSet): FieldError[] {
  return [
    ...validateNonNegative('spec.replicas', spec?.replicas),
    ...validateNonNegative('spec.minReadySeconds', spec?.minReadySeconds),
    ...validateReplicaTemplate('spec', spec ?? {}),
  ]
}

function validateStatus(status: ReplicaSetStatus): FieldError[] {
  return [
    ...validateReplicaCounts('status', status, {
      parts: ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
    }),
    ...validateNonNegative('status.terminatingReplicas', status.terminatingReplicas),
  ]
}
