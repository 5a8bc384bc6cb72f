/** Validation of the subjects of a flow schema. */
import { forbiddenField, notSupported, required, type FieldError } from '../../field-error.ts'
import type { Subject } from '../../generated/flowcontrol/v1.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '../../names.ts'
import { validatePresent, validateRequiredName } from '../validation/field-checks.ts'
import type { Unchecked } from '../validation/unchecked.ts'

/** The field required by each subject kind. */
const fieldOfKind = { Group: 'group', ServiceAccount: 'serviceAccount', User: 'user' } as const

type Kind = keyof typeof fieldOfKind

export function validateSubject(field: string, subject: Unchecked<Subject>): FieldError[] {
  const kinds = Object.keys(fieldOfKind) as Kind[]
  const kind = kinds.find(each => each === subject.kind)
  if (!kind) return [notSupported(`${field}.kind`, subject.kind ?? '', kinds)]
  const others = kinds.filter(each => each !== kind && subject[fieldOfKind[each]] !== undefined)
  return [
    ...validateNamed(`${field}.${fieldOfKind[kind]}`, subject, kind),
    ...others.map(other => {
      const name = fieldOfKind[other]
      return forbiddenField(`${field}.${name}`, `${name} is forbidden when subject kind is not '${other}'`)
    }),
  ]
}

function validateNamed(field: string, subject: Unchecked<Subject>, kind: Kind): FieldError[] {
  const name = fieldOfKind[kind]
  const named = subject[name]
  if (!named) return [required(field, `${name} is required when subject kind is '${kind}'`)]
  if (kind !== 'ServiceAccount') return validatePresent(`${field}.name`, named.name)
  return validateServiceAccount(field, subject.serviceAccount ?? {})
}

function validateServiceAccount(
  field: string,
  { name, namespace }: NonNullable<Unchecked<Subject>['serviceAccount']>,
): FieldError[] {
  return [
    ...(name === '*' ? [] : validateRequiredName(`${field}.name`, name, checkDns1123Subdomain)),
    ...(namespace
      ? validateRequiredName(`${field}.namespace`, namespace, checkDns1123Label)
      : [required(`${field}.namespace`, 'must specify namespace for service account')]),
  ]
}
