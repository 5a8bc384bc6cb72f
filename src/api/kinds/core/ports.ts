/** Ports, as services and their endpoints have them. */
import { invalid, invalidEach, type FieldError } from '../../field-error.ts'
import type { IntOrString } from '../../int-or-string.ts'
import { checkPortName, checkPortNumber, checkQualifiedName } from '../../names.ts'

/** The protocols of the transport layer. */
export const portProtocols: readonly string[] = ['SCTP', 'TCP', 'UDP']

export function validatePortNumber(field: string, port: number): FieldError[] {
  return checkPortNumber(port).map(message => invalid(field, port, message))
}

/** The number of a port, or the name of one. */
export function validatePortOrName(field: string, port: IntOrString): FieldError[] {
  if (typeof port === 'number') return validatePortNumber(field, port)
  return checkPortName(port).map(message => invalid(field, port, message))
}

/** What is spoken on top of the transport layer. */
export function validateAppProtocol(field: string, protocol: string | undefined): FieldError[] {
  return protocol === undefined ? [] : invalidEach(field, protocol, checkQualifiedName(protocol))
}
