/** Rules of ResourceSlice. The API server sets `timeAdded` of device taints, since rules have no clock. */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type {
  CounterSet,
  Device,
  DeviceAttribute,
  ResourcePool,
  ResourceSlice,
  ResourceSliceSpec,
} from '../../generated/resource/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { quote } from '../../text/quote.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateCsiDriverName } from '../validation/field-checks.ts'
import { mapCopyOnWrite, withField } from '../../copy-on-write.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateCounters, validateDevice } from './device.ts'
import { validateSet } from './limits.ts'
import { validateLabelName, validatePoolName } from './names.ts'
import { validateOneSelection, validateSelection } from './node-selection.ts'

export const resourceSliceRules: KindRules<ResourceSlice> = {
  returnDeletedObject: true,
  tracksGeneration: true,
  prepareForCreate: withoutAlphaFields,
  prepareForUpdate: withoutAlphaFields,
  validate: slice => validateSlice(slice, []),
  validateUpdate: (slice, old) => validateSlice(slice, validateUnchanged(slice, old)),
  warnings: warningsForDriver,
  selectableFields: {
    'spec.nodeName': slice => slice.spec?.nodeName ?? '',
    'spec.driver': slice => slice.spec?.driver ?? '',
  },
  unsupportedFieldLabel: field =>
    `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${field}`,
}

type Slice = Unchecked<ResourceSlice>
type Spec = Unchecked<ResourceSliceSpec>

const devicesMax = 128
/** Lower limit for devices with taints or counters, which are more expensive to process. */
const advancedDevicesMax = 64
const counterSetsMax = 8

/**
 * Drops fields of features that are off: attributes with lists of values, and
 * `nodeAllocatableResourceMappings`.
 */
function withoutAlphaFields(slice: ResourceSlice): ResourceSlice {
  return withField(slice, 'spec', spec =>
    withField(spec, 'devices', devices =>
      mapCopyOnWrite(devices, device => {
        const { nodeAllocatableResourceMappings: mappings, ...plain } = device
        const cleared: Device = mappings === undefined ? device : plain
        return withField(cleared, 'attributes', withoutLists)
      }),
    ),
  )
}

function withoutLists(
  attributes: Readonly<Record<string, DeviceAttribute>>,
): Readonly<Record<string, DeviceAttribute>> {
  const lists = ['bools', 'ints', 'strings', 'versions'] as const
  const isPlain = Object.values(attributes).every(each => lists.every(name => each[name] === undefined))
  if (isPlain) return attributes
  return Object.fromEntries(
    Object.entries(attributes).map(([key, attribute]) => {
      const { bools: _bools, ints: _ints, strings: _strings, versions: _versions, ...plain } = attribute
      return [key, plain]
    }),
  )
}

function validateSlice({ spec = {} }: Slice, immutable: readonly FieldError[]): FieldError[] {
  const { devices = [], sharedCounters, perDeviceNodeSelection = false } = spec
  const isAdvanced = devices.some(({ taints = [], consumesCounters = [] }) => {
    return taints.length > 0 || consumesCounters.length > 0
  })
  return [
    ...validateCsiDriverName('spec.driver', spec.driver),
    ...validatePool('spec.pool', spec.pool ?? {}),
    ...immutable,
    ...validateNodeSelection(spec),
    ...(sharedCounters !== undefined && spec.devices !== undefined
      ? [invalid('spec', '', 'only one of `sharedCounters` or `devices` is allowed')]
      : []),
    ...validateSet('spec.devices', devices, {
      itemsMax: isAdvanced ? advancedDevicesMax : devicesMax,
      validateItem: (field, device) => validateDevice(field, device, perDeviceNodeSelection),
      keyOf: ({ name = '' }) => name,
    }),
    ...validateSet('spec.sharedCounters', sharedCounters, {
      itemsMax: counterSetsMax,
      validateItem: validateCounterSet,
      keyOf: ({ name = '' }) => name,
    }),
  ]
}

function validatePool(field: string, pool: Unchecked<ResourcePool>): FieldError[] {
  const { resourceSliceCount: count = 0, generation = 0 } = pool
  return [
    ...validatePoolName(`${field}.name`, pool.name),
    ...(count > 0 ? [] : [invalid(`${field}.resourceSliceCount`, count, 'must be greater than zero')]),
    ...(generation < 0
      ? [invalid(`${field}.generation`, generation, 'must be greater than or equal to zero')]
      : []),
  ]
}

function validateNodeSelection(spec: Spec): FieldError[] {
  const { nodeSelectorTerms: terms = [] } = spec.nodeSelector ?? {}
  const rule = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required'
  return [
    ...validateSelection('spec', spec, 'must be either unset or set to a non-empty string'),
    ...(spec.nodeSelector && terms.length !== 1
      ? [invalid('spec.nodeSelector.nodeSelectorTerms', terms, 'must have exactly one node selector term')]
      : []),
    ...validateOneSelection('spec', spec, { none: rule, several: `${rule}, but multiple fields are set` }),
  ]
}

function validateCounterSet(field: string, { name = '', counters }: Unchecked<CounterSet>): FieldError[] {
  return [
    ...(name === '' ? [required(`${field}.name`, '')] : validateLabelName(`${field}.name`, name)),
    ...validateCounters(`${field}.counters`, counters),
  ]
}

function validateUnchanged({ spec = {} }: Slice, { spec: old = {} }: Slice): FieldError[] {
  return [
    ...validateImmutable(spec.pool?.name, old.pool?.name, 'spec.pool.name'),
    ...validateImmutable(spec.driver, old.driver, 'spec.driver'),
    ...validateImmutable(spec.nodeName, old.nodeName, 'spec.nodeName'),
  ]
}

function warningsForDriver({ spec }: ResourceSlice): string[] {
  const driver = spec?.driver ?? ''
  if (driver === driver.toLowerCase()) return []
  return [`spec.driver: driver names should be lowercase; ${quote(driver)} contains uppercase characters`]
}
