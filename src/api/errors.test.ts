import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ApiError,
  alreadyExists,
  apiError,
  applyConflict,
  badRequest,
  conflict,
  expired,
  forbidden,
  generateNameConflict,
  gone,
  internalError,
  isApiError,
  methodNotAllowed,
  notAcceptable,
  notFound,
  optimisticLockErrorMessage,
  requestEntityTooLarge,
  serverTimeout,
  serviceUnavailable,
  timeout,
  tooLargeResourceVersion,
  tooManyRequests,
  unauthorized,
  unsupportedMediaType,
  type StatusDetails,
} from './errors.ts'

const pod = { group: '', kind: 'pods', name: 'web-0' }
const deployment = { group: 'apps', kind: 'deployments', name: 'web' }

interface Expected {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details?: StatusDetails
}

function check(error: ApiError, expected: Expected): void {
  const { details, ...rest } = expected
  assert.deepEqual(error.status, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    ...rest,
    ...(details && { details }),
  })
  assert.deepEqual(
    [error.reason, error.code, error.message],
    [expected.reason, expected.code, expected.message],
  )
}

test("object errors have Kubernetes' messages", () => {
  check(notFound(pod), {
    code: 404,
    reason: 'NotFound',
    message: 'pods "web-0" not found',
    details: { name: 'web-0', kind: 'pods' },
  })
  check(notFound({ group: 'apps', kind: 'deployments' }), {
    code: 404,
    reason: 'NotFound',
    message: 'deployments.apps "" not found',
    details: { group: 'apps', kind: 'deployments' },
  })
  check(alreadyExists(deployment), {
    code: 409,
    reason: 'AlreadyExists',
    message: 'deployments.apps "web" already exists',
    details: { name: 'web', group: 'apps', kind: 'deployments' },
  })
  check(generateNameConflict(pod, 1), {
    code: 409,
    reason: 'AlreadyExists',
    details: { name: 'web-0', kind: 'pods', retryAfterSeconds: 1 },
    message: 'pods "web-0" already exists, the server was not able to generate a unique name for the object',
  })
  check(conflict(pod, optimisticLockErrorMessage), {
    code: 409,
    reason: 'Conflict',
    details: { name: 'web-0', kind: 'pods' },
    message:
      'Operation cannot be fulfilled on pods "web-0": the object has been modified; please apply ' +
      'your changes to the latest version and try again',
  })
  check(methodNotAllowed(deployment, 'patch'), {
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'patch is not supported on resources of kind "deployments.apps"',
    details: { group: 'apps', kind: 'deployments' },
  })
  check(serverTimeout(deployment, 'create', 2), {
    code: 500,
    reason: 'ServerTimeout',
    message:
      'The create operation against deployments.apps could not be completed at this time, please ' +
      'try again.',
    details: { name: 'create', group: 'apps', kind: 'deployments', retryAfterSeconds: 2 },
  })
})

test('forbidden names an object, a resource or a path', () => {
  const code = 403
  const reason = 'Forbidden'
  check(forbidden(pod, 'no'), {
    code,
    reason,
    message: 'pods "web-0" is forbidden: no',
    details: { name: 'web-0', kind: 'pods' },
  })
  check(forbidden({ group: 'apps', kind: 'deployments' }, 'no'), {
    code,
    reason,
    message: 'deployments.apps is forbidden: no',
    details: { group: 'apps', kind: 'deployments' },
  })
  check(forbidden({ group: '', kind: '' }, 'no'), { code, reason, message: 'forbidden: no', details: {} })
})

test('request errors carry code and message', () => {
  check(badRequest('bad'), { code: 400, reason: 'BadRequest', message: 'bad' })
  check(unauthorized(), { code: 401, reason: 'Unauthorized', message: 'Unauthorized' })
  check(notAcceptable(['application/json', 'application/yaml']), {
    code: 406,
    reason: 'NotAcceptable',
    message: 'only the following media types are accepted: application/json, application/yaml',
  })
  check(unsupportedMediaType(['application/json']), {
    code: 415,
    reason: 'UnsupportedMediaType',
    message:
      'the body of the request was in an unknown format - accepted media types include: ' +
      'application/json',
  })
  check(requestEntityTooLarge('limit is 3145728'), {
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: 'Request entity too large: limit is 3145728',
  })
  check(expired('old'), { code: 410, reason: 'Expired', message: 'old' })
  check(gone('away'), { code: 410, reason: 'Gone', message: 'away' })
  check(serviceUnavailable('later'), { code: 503, reason: 'ServiceUnavailable', message: 'later' })
  check(tooManyRequests('slow down', 3), {
    code: 429,
    reason: 'TooManyRequests',
    message: 'slow down',
    details: { retryAfterSeconds: 3 },
  })
  check(timeout('too slow', 0), { code: 504, reason: 'Timeout', message: 'Timeout: too slow', details: {} })
  check(tooLargeResourceVersion(12, 10n, 1), {
    code: 504,
    reason: 'Timeout',
    message: 'Timeout: Too large resource version: 12, current: 10',
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  })
  check(applyConflict([{ reason: 'FieldManagerConflict', field: '.spec' }], 'Apply failed'), {
    code: 409,
    reason: 'Conflict',
    message: 'Apply failed',
    details: { causes: [{ reason: 'FieldManagerConflict', field: '.spec' }] },
  })
  check(apiError('StorageReadError', 'damaged'), {
    code: 500,
    reason: 'StorageReadError',
    message: 'damaged',
  })
})

test('an internal error does not expose its cause to clients', () => {
  const cause = new Error('secret')
  const error = internalError('store failed', cause)
  check(error, {
    code: 500,
    reason: 'InternalError',
    message: 'Internal error occurred: store failed',
    details: { causes: [{ message: 'store failed' }] },
  })
  assert.equal(error.cause, cause)
  assert.doesNotMatch(JSON.stringify(error.status), /secret/)
})

test('the fields of a status come in the order Kubernetes writes them', () => {
  const keys = Object.keys(notFound(pod).status)
  assert.deepEqual(keys, ['kind', 'apiVersion', 'metadata', 'status', 'message', 'reason', 'details', 'code'])
})

test('a name with control characters or quotation marks is quoted', () => {
  assert.equal(notFound({ group: '', kind: 'pods', name: 'a"\n' }).message, 'pods "a\\"\\n" not found')
})

test('errors are matched by reason', () => {
  assert.equal(isApiError(notFound(pod), 'NotFound'), true)
  assert.equal(isApiError(notFound(pod), 'Conflict'), false)
  assert.equal(isApiError(notFound(pod)), true)
  for (const other of [new Error('NotFound'), { reason: 'NotFound' }, undefined, null, 'NotFound']) {
    assert.equal(isApiError(other, 'NotFound'), false)
  }
})

test('ApiError accepts a status without message or code', () => {
  const bare = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const
  const error = new ApiError(bare)
  assert.deepEqual([error.reason, error.code, error.message, error.name], ['', 500, 'unknown', 'ApiError'])
  assert.equal(new ApiError({ ...bare, reason: 'Gone' }).message, 'Gone')
})
