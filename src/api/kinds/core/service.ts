/**
 * Rules of Service. Cluster IPs and node ports are not defaults: the API server allocates them after
 * validation.
 */
import type { Service } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { labelNames } from '../../names.ts'
import { withServiceDefaults } from './service/defaults.ts'
import { prepareServiceForCreate, prepareServiceForUpdate } from './service/prepare.ts'
import { validateService, validateServiceStatusUpdate, validateServiceUpdate } from './service/validation.ts'
import { warningsForService } from './service/warnings.ts'

export const serviceRules: KindRules<Service> = {
  names: labelNames,
  withDefaults: withServiceDefaults,
  prepareForCreate: prepareServiceForCreate,
  prepareForUpdate: prepareServiceForUpdate,
  validate: service => validateService(service),
  validateUpdate: validateServiceUpdate,
  validateStatusUpdate: validateServiceStatusUpdate,
  warnings: warningsForService,
  selectableFields: {
    'spec.clusterIP': service => service.spec?.clusterIP ?? '',
    'spec.type': service => service.spec?.type ?? '',
  },
  allowCreateOnUpdate: true,
  returnDeletedObject: true,
}
