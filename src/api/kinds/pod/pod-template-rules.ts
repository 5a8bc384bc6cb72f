/** Rules of PodTemplate. */
import type { PodTemplate } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { withPodTemplateDefaults } from './pod-defaults.ts'
import { prepareTemplate } from './pod-preparation.ts'
import { validatePodTemplate } from './pod-template-validation.ts'
import { warningsForTemplate } from './pod-warnings.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withField, withMissing } from '../../copy-on-write.ts'

export const podTemplateRules: KindRules<PodTemplate> = {
  tracksGeneration: true,
  returnDeletedObject: true,
  withDefaults: object =>
    withField(withMissing(object, { template: {} }), 'template', withPodTemplateDefaults),
  prepareForCreate: object => withField(object, 'template', prepareTemplate),
  prepareForUpdate: object => withField(object, 'template', prepareTemplate),
  validate: object => validatePodTemplate('template', object.template ?? {}),
  validateUpdate: object => validatePodTemplate('template', object.template ?? {}),
  warnings(object, old) {
    const isSame = old !== undefined && semanticEqual(object.template, old.template)
    return isSame ? [] : warningsForTemplate('template', object.template)
  },
}
