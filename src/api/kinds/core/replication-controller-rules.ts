/** Rules of ReplicationController. */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type {
  PodTemplateSpec,
  ReplicationController,
  ReplicationControllerSpec,
  ReplicationControllerStatus,
} from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { selectorFromLabels } from '../../selectors/selector.ts'
import { validateNonNegative } from '../validation/field-checks.ts'
import { withPodTemplateDefaults } from '../pod/pod-defaults.ts'
import { prepareTemplate } from '../pod/pod-preparation.ts'
import { validateTemplateRestartsAlways, validatePodTemplate } from '../pod/pod-template-validation.ts'
import { namesOfPods, warningsForName, warningsForTemplate } from '../pod/pod-warnings.ts'
import { validateReplicaCounts } from '../validation/replica-counts.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withField, withMissing } from '../../copy-on-write.ts'

export const replicationControllerRules: KindRules<ReplicationController> = {
  tracksGeneration: true,
  withDefaults,
  prepareForCreate: object => ({ ...withPreparedTemplate(object), status: { replicas: 0 } }),
  prepareForUpdate: withPreparedTemplate,
  // The template, which the update does not contain, has the default labels.
  prepareForStatusUpdate: withDefaults,
  validate: object => validateSpec('spec', object.spec ?? {}),
  validateUpdate: object => validateSpec('spec', object.spec ?? {}),
  validateStatusUpdate: object => validateStatus('status', object.status ?? { replicas: 0 }),
  warnings(object, old) {
    if (old !== undefined && semanticEqual(object.spec, old.spec)) return []
    const ofName = old === undefined ? warningsForName(object.metadata.name, namesOfPods) : []
    return [...ofName, ...warningsForTemplate('spec.template', object.spec?.template)]
  },
  orphanDependentsByDefault: true,
  selectableFields: { 'status.replicas': object => String(object.status?.replicas ?? 0) },
}

/** Selector and labels default to the labels of the template. */
function withDefaults(object: ReplicationController): ReplicationController {
  const complete = withField(withMissing(object, { spec: {} }), 'spec', spec => {
    const result = withField(withMissing(spec, { replicas: 1 }), 'template', withPodTemplateDefaults)
    const labels = result.template?.metadata?.labels
    return labels === undefined || !isEmpty(result.selector) ? result : { ...result, selector: labels }
  })
  const labels = complete.spec?.template?.metadata?.labels
  if (labels === undefined || !isEmpty(complete.metadata.labels)) return complete
  return { ...complete, metadata: { ...complete.metadata, labels } }
}

function isEmpty(map: Readonly<Record<string, string>> | undefined): boolean {
  return map === undefined || Object.keys(map).length === 0
}

function withPreparedTemplate(object: ReplicationController): ReplicationController {
  return withField(object, 'spec', spec => withField(spec, 'template', prepareTemplate))
}

function validateSpec(field: string, spec: ReplicationControllerSpec): FieldError[] {
  const { selector = {}, template, replicas, minReadySeconds } = spec
  return [
    ...validateNonNegative(`${field}.minReadySeconds`, minReadySeconds),
    ...(isEmpty(selector) ? [required(`${field}.selector`, '')] : []),
    ...(replicas === undefined
      ? [required(`${field}.replicas`, '')]
      : validateNonNegative(`${field}.replicas`, replicas)),
    ...(template === undefined
      ? [required(`${field}.template`, '')]
      : validateTemplate(`${field}.template`, template, selector)),
  ]
}

function validateTemplate(
  field: string,
  template: PodTemplateSpec,
  selector: Readonly<Record<string, string>>,
): FieldError[] {
  const { labels } = template.metadata ?? {}
  const isSelected = selectorFromLabels(selector).matches(labels)
  const detail = '`selector` does not match template `labels`'
  return [
    ...(isSelected ? [] : [invalid(`${field}.metadata.labels`, labels ?? null, detail)]),
    ...validatePodTemplate(field, template),
    ...validateTemplateRestartsAlways(field, template, 'ReplicationController'),
  ]
}

function validateStatus(field: string, status: ReplicationControllerStatus): FieldError[] {
  return validateReplicaCounts(field, status, {
    parts: ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
  })
}
