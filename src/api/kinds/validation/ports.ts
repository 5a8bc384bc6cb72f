/** Validation of ports of services and endpoints. */
import { enumValues } from '../../definitions.ts'
import { invalid, invalidEach, type FieldError } from '../../field-error.ts'
import type { IntOrString } from '../../text/int-or-string.ts'
import { checkPortName, checkPortNumber, checkQualifiedName } from '../../names.ts'

export const portProtocols = enumValues('core.Protocol')

export function validatePortNumber(field: string, port: number): FieldError[] {
  return checkPortNumber(port).map(message => invalid(field, port, message))
}

/** Validates a port number or port name. */
export function validatePortOrName(field: string, port: IntOrString): FieldError[] {
  if (typeof port === 'number') return validatePortNumber(field, port)
  return checkPortName(port).map(message => invalid(field, port, message))
}

/** Validates an application protocol. */
export function validateAppProtocol(field: string, protocol: string | undefined): FieldError[] {
  return protocol === undefined ? [] : invalidEach(field, protocol, checkQualifiedName(protocol))
}
