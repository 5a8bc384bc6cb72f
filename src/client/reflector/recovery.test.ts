import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  badRequest,
  expired,
  forbidden,
  gone,
  internalError,
  tooLargeResourceVersion,
  tooManyRequests,
} from '#/api/errors.ts'
import { TransportError } from '../transport.ts'
import { planRecovery, type Attempt } from './recovery.ts'

test('a watch is resumed unless its resourceVersion is gone', () => {
  check('watch', expired('old'), 'list')
  check('watch', gone('old'), 'list')
  check('watch', badRequest('invalid resource version'), 'list')
  check('watch', tooLargeResourceVersion(9, 5, 1), 'list, after 1000 ms')
  check('watch', tooManyRequests('busy', 7), 'resume, after 7000 ms')
  check('watch', internalError('oops'), 'resume')
  check('watch', forbidden({ group: '', kind: 'pods' }, 'no'), 'resume')
  check('watch', new TransportError('interrupted', 'broke'), 'resume')
  check('watch', new TransportError('stalled', 'silent'), 'resume')
  check('watch', new TransportError('invalid-response', 'what'), 'resume')
  check('watch', new TransportError('invalid-response', 'what'), 'list', 6)
  check('watch', new TypeError('our own fault'), 'list')
})

test('a failed list is retried, without watch-list if unsupported', () => {
  check('list', internalError('oops'), 'list')
  check('list', new TransportError('timeout', 'late'), 'list')
  check('watch-list', badRequest('sendInitialEvents'), 'list without watch-list')
  check('watch-list', internalError('RequestWatchProgress is disabled'), 'list without watch-list')
  check('watch-list', new TransportError('stalled', 'never said that it was all'), 'list without watch-list')
  check('watch-list', new TransportError('interrupted', 'broke'), 'list')
  check('watch-list', tooManyRequests('busy', 2), 'list, after 2000 ms')
})

function check(attempt: Attempt, error: unknown, expected: string, failures = 1): void {
  const { begin, disableWatchList, waitMsMin } = planRecovery({ attempt, error, failures })
  const wait = waitMsMin > 0 ? `, after ${waitMsMin} ms` : ''
  assert.equal(`${begin}${disableWatchList ? ' without watch-list' : ''}${wait}`, expected)
}
