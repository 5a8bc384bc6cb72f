/**
 * Validation errors of single fields, and the 422 error that lists all of them. Validation collects
 * `FieldError`s and does not stop at the first. The messages are Kubernetes': clients match on them.
 */
import { apiError, qualifiedName, type ApiError, type ErrorSubject, type StatusCause } from './errors.ts'
import { quote, showValue } from './text/quote.ts'

export interface FieldError {
  /** One of Kubernetes' machine-readable causes. */
  readonly reason: FieldErrorReason
  /** `spec.containers[0].image`. */
  readonly field: string
  /** The rejected value. Shown in the message if present, truncated if long, unless the reason excludes it. */
  readonly value?: unknown
  readonly detail: string
}

export type FieldErrorReason =
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueDuplicate'
  | 'FieldValueForbidden'
  | 'FieldValueNotFound'
  | 'FieldValueTooLong'
  | 'FieldValueTooShort'
  | 'FieldValueTooMany'
  | 'FieldValueTooFew'
  | 'FieldValueTypeInvalid'
  | 'InternalError'

export function required(field: string, detail: string): FieldError {
  return { reason: 'FieldValueRequired', field, detail }
}

export function invalid(field: string, value: unknown, detail: string): FieldError {
  return { reason: 'FieldValueInvalid', field, value, detail }
}

/** Lists the supported values in the given order. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const detail = supported.length === 0 ? '' : `supported values: ${supported.map(quote).join(', ')}`
  return { reason: 'FieldValueNotSupported', field, value, detail }
}

export function duplicate(field: string, value: unknown): FieldError {
  return { reason: 'FieldValueDuplicate', field, value, detail: '' }
}

export function forbiddenField(field: string, detail: string): FieldError {
  return { reason: 'FieldValueForbidden', field, detail }
}

export function notFoundField(field: string, value: unknown): FieldError {
  return { reason: 'FieldValueNotFound', field, value, detail: '' }
}

export function tooLong(field: string, maxBytes: number): FieldError {
  return { reason: 'FieldValueTooLong', field, detail: `may not be more than ${count(maxBytes, 'byte')}` }
}

export function tooLongCharacters(field: string, maxCharacters: number): FieldError {
  const detail = `may not be more than ${count(maxCharacters, 'character')}`
  return { reason: 'FieldValueTooLong', field, detail }
}

export function tooShort(field: string, minCharacters: number): FieldError {
  const detail = `must be at least ${count(minCharacters, 'character')}`
  return { reason: 'FieldValueTooShort', field, detail }
}

export function tooMany(field: string, actual: number, max: number): FieldError {
  const detail = `must have at most ${count(max, 'item')}`
  return { reason: 'FieldValueTooMany', field, value: actual, detail }
}

export function tooFew(field: string, actual: number, min: number): FieldError {
  const detail = `must have at least ${count(min, 'item')}`
  return { reason: 'FieldValueTooFew', field, value: actual, detail }
}

export function wrongType(field: string, value: unknown, detail: string): FieldError {
  return { reason: 'FieldValueTypeInvalid', field, value, detail }
}

/** A server-side failure, not an error of the client. */
export function internalFieldError(field: string, detail: string): FieldError {
  return { reason: 'InternalError', field, detail }
}

/** One `invalid` error per message of a check from `names.ts`. */
export function invalidEach(field: string, value: unknown, messages: readonly string[]): FieldError[] {
  return messages.map(message => invalid(field, value, message))
}

/** The message without the field: `Invalid value: "x": must be shorter`. */
export function fieldErrorMessage(error: FieldError): string {
  const title = titles[error.reason]
  const isShown = 'value' in error && !valueless.has(error.reason)
  const head = isShown ? `${title}: ${showValue(error.value, shownCharactersMax)}` : title
  return error.detail === '' ? head : `${head}: ${error.detail}`
}

/** The message with the field: `spec.name: Invalid value: "x": must be shorter`. */
export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${fieldErrorMessage(error)}`
}

/** Joins errors without duplicates; in brackets unless there is exactly one. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(formatFieldError))]
  return texts.length === 1 ? texts.join('') : `[${texts.join(', ')}]`
}

/** The 422 error for an object, with all its field errors. */
export function invalidObject(subject: ErrorSubject, errors: readonly FieldError[]): ApiError {
  const causes: StatusCause[] = errors.map(error => {
    return { reason: error.reason, message: fieldErrorMessage(error), field: error.field }
  })
  const head = `${qualifiedName(subject)} ${quote(subject.name ?? '')} is invalid`
  const details = {
    ...(subject.name && { name: subject.name }),
    ...(subject.group && { group: subject.group }),
    ...(subject.kind && { kind: subject.kind }),
    ...(causes.length > 0 && { causes }),
  }
  return apiError('Invalid', errors.length === 0 ? head : `${head}: ${formatFieldErrors(errors)}`, details)
}

const titles: Readonly<Record<FieldErrorReason, string>> = {
  FieldValueRequired: 'Required value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueForbidden: 'Forbidden',
  FieldValueNotFound: 'Not found',
  FieldValueTooLong: 'Too long',
  FieldValueTooShort: 'Too short',
  FieldValueTooMany: 'Too many',
  FieldValueTooFew: 'Too few',
  FieldValueTypeInvalid: 'Invalid value',
  InternalError: 'Internal error',
}

/** Reasons for which the message does not include the value. */
const valueless: ReadonlySet<FieldErrorReason> = new Set([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'FieldValueTooShort',
  'InternalError',
])

/**
 * Maximum length of a rejected value in an error message. Kubernetes prints the whole value, which may be a
 * pod template of 3 MB.
 */
const shownCharactersMax = 1_000

function count(amount: number, unit: string): string {
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`
}
