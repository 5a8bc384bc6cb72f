/** Rules of PodTemplate. */
import type { PodTemplate } from '../../../generated/core/v1.ts'
import type { KindRules } from '../../../kind-rules.ts'
import { withPodTemplateDefaults } from './pod-defaults.ts'
import { prepareTemplate } from './pod-preparation.ts'
import { validatePodTemplate } from './pod-template-validation.ts'
import { warnAboutTemplate } from './pod-warnings.ts'
import { sameMeaning } from './same-meaning.ts'
import { withField, withMissing } from './structure-sharing.ts'

export const podTemplateRules: KindRules<PodTemplate> = {
  tracksGeneration: true,
  returnsDeleted: true,
  withDefaults: object =>
    withField(withMissing(object, { template: {} }), 'template', withPodTemplateDefaults),
  prepareForCreate: object => withField(object, 'template', prepareTemplate),
  prepareForUpdate: object => withField(object, 'template', prepareTemplate),
  validate: object => validatePodTemplate('template', object.template ?? {}),
  validateUpdate: object => validatePodTemplate('template', object.template ?? {}),
  warnings(object, old) {
    const isSame = old !== undefined && sameMeaning(object.template, old.template)
    return isSame ? [] : warnAboutTemplate('template', object.template)
  },
}
