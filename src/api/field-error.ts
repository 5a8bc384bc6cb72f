/**
 * What is wrong with one field of an object, and the 422 answer that lists all that is wrong at once.
 * Validation collects `FieldError`s and never stops at the first. The texts are Kubernetes': clients match on
 * them.
 */
import { apiError, qualifiedName, type ApiError, type ErrorSubject, type StatusCause } from './errors.ts'
import { quote, showValue } from './quote.ts'

export interface FieldError {
  /** One of Kubernetes' machine-readable causes. */
  readonly reason: FieldErrorReason
  /** `spec.containers[0].image`. */
  readonly field: string
  /** The value that was refused; shown, cut when long, unless the reason is one that has no value. */
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

/** Lists the supported values in the order given. */
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

/** Our own fault rather than the client's. */
export function internalFieldError(field: string, detail: string): FieldError {
  return { reason: 'InternalError', field, detail }
}

/** One `invalid` for each message that a check of `names.ts` gives. */
export function invalidEach(field: string, value: unknown, messages: readonly string[]): FieldError[] {
  return messages.map(message => invalid(field, value, message))
}

/** The error without its field: `Invalid value: "x": must be shorter`. */
export function fieldErrorMessage(error: FieldError): string {
  const title = titles[error.reason]
  const head = valueless.has(error.reason) ? title : `${title}: ${showValue(error.value, shownCharactersMax)}`
  return error.detail === '' ? head : `${head}: ${error.detail}`
}

/** The error with its field: `spec.name: Invalid value: "x": must be shorter`. */
export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${fieldErrorMessage(error)}`
}

/** Several errors as one text: what is said twice is said once, and more than one stand in brackets. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(formatFieldError))]
  return texts.length === 1 ? texts.join('') : `[${texts.join(', ')}]`
}

/** The 422 answer for an object of a kind with all its errors. */
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

/** Reasons whose text shows no value: there is none, or it is of no use. */
const valueless: ReadonlySet<FieldErrorReason> = new Set([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'FieldValueTooShort',
  'InternalError',
])

/**
 * Characters of a refused value that an error shows: enough to recognise it, too few to flood a terminal.
 * Kubernetes shows the whole value; a pod template of 3 MB in one line helps nobody.
 */
const shownCharactersMax = 1_000

function count(amount: number, unit: string): string {
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`
}
