/** Validation of CEL selectors and opaque driver configuration. The API server compiles expressions in a hook. */
import { invalid, required, tooLong, type FieldError } from '../../field-error.ts'
import type {
  DeviceClassConfiguration,
  DeviceSelector,
  OpaqueDeviceConfiguration,
} from '../../generated/resource/v1.ts'
import { stringifyJson } from '../../text/json.ts'
import type { JsonValue } from '../../text/json-value.ts'
import { validateCsiDriverName } from '../validation/field-checks.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateList } from './limits.ts'

export const configurationsMax = 32

const selectorsMax = 32
const expressionBytesMax = 10 * 1_024
const parametersBytesMax = 10 * 1_024

export function validateSelectors(
  field: string,
  selectors: readonly Unchecked<DeviceSelector>[] | undefined,
): FieldError[] {
  return validateList(field, selectors, { itemsMax: selectorsMax, validateItem: validateSelector })
}

function validateSelector(field: string, { cel }: Unchecked<DeviceSelector>): FieldError[] {
  if (!cel) return [required(`${field}.cel`, '')]
  const { expression = '' } = cel
  const isLong = Buffer.byteLength(expression) > expressionBytesMax
  return isLong ? [tooLong(`${field}.cel.expression`, expressionBytesMax)] : []
}

export function validateConfiguration(
  field: string,
  { opaque }: Unchecked<DeviceClassConfiguration>,
): FieldError[] {
  return opaque ? validateOpaque(`${field}.opaque`, opaque) : [required(`${field}.opaque`, '')]
}

/** Any JSON object of bounded size. */
export function validateFreeForm(field: string, value: unknown, bytesMax: number): FieldError[] {
  if (value === undefined || value === null) return [required(field, '')]
  if (Buffer.byteLength(stringifyJson(value as JsonValue)) > bytesMax) return [tooLong(field, bytesMax)]
  if (typeof value === 'object' && !Array.isArray(value)) return []
  return [invalid(field, '<value omitted>', 'must be a valid JSON object')]
}

function validateOpaque(
  field: string,
  { driver, parameters }: Unchecked<OpaqueDeviceConfiguration>,
): FieldError[] {
  return [
    ...validateCsiDriverName(`${field}.driver`, driver),
    ...validateFreeForm(`${field}.parameters`, parameters, parametersBytesMax),
  ]
}
