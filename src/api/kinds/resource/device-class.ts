/** Rules of DeviceClass. */
import { invalid, type FieldError } from '../../field-error.ts'
import type { DeviceClass } from '../../generated/resource/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { isExtendedResourceName } from '../../core/resource-names.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { configurationsMax, validateConfiguration, validateSelectors } from './configuration.ts'
import { validateList } from './limits.ts'

export const deviceClassRules: KindRules<DeviceClass> = {
  returnDeletedObject: true,
  tracksGeneration: true,
  validate: validateDeviceClass,
  validateUpdate: validateDeviceClass,
}

function validateDeviceClass({ spec = {} }: Unchecked<DeviceClass>): FieldError[] {
  const { selectors, config, extendedResourceName: name } = spec
  return [
    ...validateSelectors('spec.selectors', selectors),
    ...validateList('spec.config', config, {
      itemsMax: configurationsMax,
      validateItem: validateConfiguration,
    }),
    ...(name === undefined || isExtendedResourceName(name)
      ? []
      : [invalid('spec.extendedResourceName', name, 'must be a valid extended resource name')]),
  ]
}
