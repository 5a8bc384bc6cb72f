import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiError, ApiError, internalError, notFound } from '#/api/errors.ts'
import { nodePlatform } from '#/platform/node.ts'
import type { Log } from '#/platform/platform.ts'
import { LoggedApiError, pipeline } from './pipeline.ts'
import type { ApiRequest } from './request.ts'

test('internal defects are logged as errors, external failures as warnings, expected responses not', async () => {
  const check = async (error: unknown, code: number, expected: string): Promise<void> => {
    const lines: string[] = []
    const at = (level: string) => (message: string) => void lines.push(`${level} ${message}`)
    const log: Log = {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      with: () => log,
    }
    const platform = { ...nodePlatform({ log: { level: 'error', format: 'text' } }), log }
    const handle = pipeline(platform, [], async () => {
      throw error
    })
    for (let count = 0; count < 10; count++) {
      const { status } = await handle(request)
      assert.equal(status, code)
    }
    assert.equal(lines.join(), expected)
  }
  const defect = 'error apiserver received an error that is not a metav1.Status'
  await check(new TypeError('undefined is not a function'), 500, defect)
  await check('a string', 500, defect)
  await check(internalError('the kubelet hung up'), 500, 'warn Request failed')
  await check(apiError('StorageReadError', 'not JSON'), 500, 'warn Request failed')
  const { status } = internalError('failed calling webhook')
  await check(new LoggedApiError(status), 500, '')
  await check(new ApiError({ ...status, reason: '' }), 500, '')
  await check(apiError('ServiceUnavailable', 'the store is away'), 503, '')
  await check(apiError('Timeout', 'too slow'), 504, '')
  await check(notFound({ group: '', kind: 'pods', name: 'web' }), 404, '')
})

const request: ApiRequest = {
  method: 'GET',
  path: '/api/v1/namespaces/default/pods/web',
  query: new URLSearchParams(),
  headers: {},
  body: { bytes: () => assert.fail() },
  signal: new AbortController().signal,
  peer: { address: '127.0.0.1' },
}
