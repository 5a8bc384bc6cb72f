/** Names of the requests in a claim, `gpu`, and of their subrequests, `gpu/large`. */
import { invalid, type FieldError } from '../../field-error.ts'
import type { DeviceClaim } from '../../generated/resource/v1.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateLabelName } from './names.ts'

export type RequestNames = ReadonlySet<string>

export function requestNamesOf({ requests = [] }: Unchecked<DeviceClaim>): RequestNames {
  return new Set(
    requests.flatMap(({ name = '', firstAvailable = [] }) => {
      return [name, ...firstAvailable.map(({ name: alternative = '' }) => `${name}/${alternative}`)]
    }),
  )
}

export function validateRequestReference(
  field: string,
  reference: string,
  names: RequestNames,
): FieldError[] {
  const unknown = () => {
    const detail =
      'must be the name of a request in the claim or the name of a request and a subrequest ' +
      "separated by '/'"
    return invalid(field, reference, detail)
  }
  const parts = reference.split('/')
  if (parts.length > 2) return [unknown()]
  const errors = parts.flatMap(part => validateLabelName(field, part))
  return names.has(reference) ? errors : [...errors, unknown()]
}
