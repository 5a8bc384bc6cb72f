/** Parses and validates the query options of list and watch requests. */
import { badRequest, unknownError } from '#/api/errors.ts'
import {
  forbiddenField,
  formatFieldError,
  invalid,
  invalidObject,
  notSupported,
  type FieldError,
} from '#/api/field-error.ts'
import { quote } from '#/api/text/quote.ts'
import { isTrue } from '../request-info.ts'
import { integerParameter } from './request-scope.ts'
import { readSelection, type Selection } from './selection.ts'
import type { RequestScope } from './request-scope.ts'

export interface ListOptions {
  readonly selection: Selection
  /** 0 for no limit. */
  readonly limit: number
  readonly continueToken: string
  /** Undefined for the most recent state; 0 for any state. */
  readonly resourceVersion: number | undefined
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan'
  readonly timeoutSeconds: number | undefined
  readonly allowWatchBookmarks: boolean
  readonly sendInitialEvents: boolean | undefined
}

export function readListOptions(scope: RequestScope): ListOptions {
  const { query } = scope.context.request
  const match = query.get('resourceVersionMatch') ?? ''
  const version = query.get('resourceVersion') ?? ''
  const continueToken = query.get('continue') ?? ''
  const initialEvents = query.get('sendInitialEvents')
  const isWatch = scope.info.verb === 'watch'
  const errors = isWatch
    ? checkWatch({ match, version, continueToken, initialEvents })
    : checkList({ match, version, continueToken, initialEvents })
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind: 'ListOptions' }, errors)
  const limit = integerParameter(query, 'limit') ?? 0
  return {
    selection: readSelection(scope),
    limit: Math.max(limit, 0),
    continueToken,
    resourceVersion: isWatch ? getVersion(version) : listVersion(version),
    resourceVersionMatch: match as ListOptions['resourceVersionMatch'],
    timeoutSeconds: integerParameter(query, 'timeoutSeconds'),
    allowWatchBookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: initialEvents === null ? undefined : isTrue(initialEvents),
  }
}

/** Of a list: undefined when empty. Throws ApiError 400. */
export function listVersion(text: string): number | undefined {
  const version = parseResourceVersion(text)
  if (version !== 'invalid') return version
  throw badRequest(`invalid resource version: ${formatFieldError(invalidResourceVersion(text))}`)
}

/** Of a get or watch: undefined when empty. The error has no reason, as in Kubernetes. */
export function getVersion(text: string): number | undefined {
  const version = parseResourceVersion(text)
  if (version !== 'invalid') return version
  throw unknownError(formatFieldError(invalidResourceVersion(text)))
}

/** Undefined when empty. */
function parseResourceVersion(text: string): number | undefined | 'invalid' {
  if (text === '') return undefined
  return /^\d{1,20}$/.test(text) && BigInt(text) < 2n ** 64n ? Number(text) : 'invalid'
}

function invalidResourceVersion(text: string): FieldError {
  const problem = /^\d+$/.test(text) ? 'value out of range' : 'invalid syntax'
  return invalid(
    'resourceVersion',
    text,
    `strconv.ParseUint: parsing ${quote(text.slice(0, 100))}: ${problem}`,
  )
}

const matches = ['Exact', 'NotOlderThan']

interface GivenList {
  readonly match: string
  readonly version: string
  readonly continueToken: string
  readonly initialEvents: string | null
}

function checkList({ match, version, continueToken, initialEvents }: GivenList): FieldError[] {
  const errors: FieldError[] = []
  const field = 'resourceVersionMatch'
  if (match !== '') {
    if (version === '')
      errors.push(
        forbiddenField(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
      )
    if (continueToken !== '')
      errors.push(forbiddenField(field, 'resourceVersionMatch is forbidden when continue is provided'))
    if (!matches.includes(match)) errors.push(notSupported(field, match, [...matches, '']))
    if (match === 'Exact' && version === '0') {
      errors.push(forbiddenField(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    }
  }
  if (initialEvents !== null) {
    errors.push(forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  }
  return errors
}

interface GivenWatch {
  readonly match: string
  readonly version: string
  readonly continueToken: string
  readonly initialEvents: string | null
}

function checkWatch({ match, version, continueToken, initialEvents }: GivenWatch): FieldError[] {
  const errors: FieldError[] = []
  const field = 'resourceVersionMatch'
  if (initialEvents !== null && match !== 'NotOlderThan')
    errors.push(
      forbiddenField(field, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    )
  // A watch from the beginning gets initial events by default, which a continue token excludes.
  if (match === '' && initialEvents === null && continueToken !== '' && (version === '' || version === '0'))
    return [forbiddenField(field, 'resourceVersionMatch is forbidden when continue is provided')]
  if (match === '') return errors
  if (initialEvents === null) {
    const problem = 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'
    errors.push(forbiddenField(field, problem))
  }
  if (match !== 'NotOlderThan') errors.push(notSupported(field, match, ['NotOlderThan']))
  if (continueToken !== '')
    errors.push(forbiddenField(field, 'resourceVersionMatch is forbidden when continue is provided'))
  return errors
}
