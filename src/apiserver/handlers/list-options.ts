/** Parses and validates the query options of list and watch requests. */
import { badRequest } from '#/api/errors.ts'
import { forbiddenField, invalid, invalidObject, notSupported, type FieldError } from '#/api/field-error.ts'
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
    ? checkWatch({ match, initialEvents, allowWatchBookmarks: isTrue(query.get('allowWatchBookmarks')) })
    : checkList({ match, version, continueToken, initialEvents })
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind: 'ListOptions' }, errors)
  const limit = integerParameter(query, 'limit') ?? 0
  return {
    selection: readSelection(scope),
    limit: Math.max(limit, 0),
    continueToken,
    resourceVersion: parseResourceVersion(version),
    resourceVersionMatch: match as ListOptions['resourceVersionMatch'],
    timeoutSeconds: integerParameter(query, 'timeoutSeconds'),
    allowWatchBookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: initialEvents === null ? undefined : isTrue(initialEvents),
  }
}

/** Undefined when empty. */
export function parseResourceVersion(text: string): number | undefined {
  if (text === '') return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw badRequest(`Invalid value: ${JSON.stringify(text.slice(0, 100))}: invalid resource version`)
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
    if (continueToken !== '')
      errors.push(forbiddenField(field, 'resourceVersionMatch is forbidden when continue is provided'))
    if (version === '')
      errors.push(
        forbiddenField(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
      )
    if (!matches.includes(match)) errors.push(notSupported(field, match, matches))
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
  readonly initialEvents: string | null
  readonly allowWatchBookmarks: boolean
}

function checkWatch({ match, initialEvents, allowWatchBookmarks }: GivenWatch): FieldError[] {
  const errors: FieldError[] = []
  if (initialEvents === null) {
    if (match !== '') {
      errors.push(
        forbiddenField(
          'resourceVersionMatch',
          'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ),
      )
    }
    return errors
  }
  if (match === '') {
    errors.push(
      forbiddenField(
        'resourceVersionMatch',
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      ),
    )
  } else if (match !== 'NotOlderThan') {
    errors.push(notSupported('resourceVersionMatch', match, ['NotOlderThan']))
  }
  if (isTrue(initialEvents) && !allowWatchBookmarks) {
    errors.push(
      invalid('allowWatchBookmarks', false, 'sendInitialEvents requires setting allowWatchBookmarks to true'),
    )
  }
  return errors
}
