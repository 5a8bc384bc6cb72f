import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import type { ApiResponse, RequestContext } from './request.ts'
import { limitStreams } from './stream-limits.ts'
import { testRequest } from './test-request.ts'

const pod = '/api/v1/namespaces/default/pods/web'
const limit = limitStreams({ perKey: 2, total: 3 })

function contextOf(username: string, path: string): RequestContext {
  const state = { warnings: new Set<string>(), annotations: new Map<string, string>(), receivedMs: 0 }
  const measured = { stageStartedMs: 0, excludedMs: 0, isTerminated: false }
  return { ...testRequest(path, {}), user: { username, groups: [] }, ...state, ...measured }
}

/** Resolves with the response, or with the reason of the refusal. */
async function ask(
  username: string,
  response: ApiResponse | Error,
  path = `${pod}/exec`,
): Promise<ApiResponse | string> {
  const answer = async (): Promise<ApiResponse> => {
    if (response instanceof Error) throw response
    return response
  }
  try {
    return await limit(contextOf(username, path), answer)
  } catch (error) {
    return isApiError(error) ? error.reason : 'failed'
  }
}

function session(): ApiResponse {
  const serve = (): Promise<void> => Promise.resolve()
  return { status: 101, body: { type: 'upgrade', mediaType: '', serve, discard: () => undefined } }
}

async function* noChunks(): AsyncGenerator<never, void, undefined> {}

test('forwarded streams are limited per user and in total until they end', async () => {
  const first = await ask('a', session())
  const log: ApiResponse = { status: 200, body: { type: 'stream', mediaType: '', chunks: noChunks() } }
  const second = await ask('a', log, `${pod}/log`)
  assert.equal(await ask('a', session()), 'TooManyRequests')
  assert.equal(typeof (await ask('a', { status: 200 }, pod)), 'object', 'other requests are not limited')
  const third = await ask('b', session())
  assert.equal(await ask('b', session()), 'TooManyRequests')
  assert.ok(typeof first === 'object' && first.body?.type === 'upgrade')
  first.body.discard()
  assert.ok(typeof second === 'object' && second.body?.type === 'stream')
  for await (const _chunk of second.body.chunks) continue
  assert.ok(typeof third === 'object' && third.body?.type === 'upgrade')
  third.body.discard()
  for (let count = 0; count < 5; count++) {
    assert.equal(await ask('a', new Error('the kubelet is away')), 'failed')
    assert.equal(typeof (await ask('a', { status: 400 })), 'object')
  }
})
