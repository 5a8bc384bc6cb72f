import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from './test-server.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const mergePatch = { 'content-type': 'application/merge-patch+json' }

test('writes that need memory are rejected while it is short, deletions and small updates are not', async t => {
  let isShort = false
  const memory = {
    heapBytesMax: 2 ** 30,
    residentBytesMax: 2 ** 32,
    isNearlyExhausted: () => isShort,
    onIdle: () => undefined,
  }
  const { request } = await startTestServer(t, undefined, { memory })
  const code = async (...parameters: Parameters<typeof request>): Promise<number> =>
    (await request(...parameters)).code
  assert.equal(await code('POST', maps, { metadata: { name: 'a' }, data: { x: '1' } }), 201)
  isShort = true
  const rejected = await request('POST', maps, { metadata: { name: 'b' } })
  assert.deepEqual([rejected.code, rejected.body.reason], [429, 'TooManyRequests'])
  assert.equal(rejected.headers?.['retry-after'], '5')
  const large = { data: { x: 'x'.repeat(20_000) } }
  const sized = { ...mergePatch, 'content-length': '20020' }
  assert.equal(await code('PATCH', `${maps}/a`, large, sized), 429)
  assert.equal(
    await code('PATCH', `${maps}/a`, { data: { x: '2' } }, { ...mergePatch, 'content-length': '18' }),
    200,
  )
  assert.equal(await code('POST', leases, { metadata: { name: 'a' }, spec: {} }), 201)
  assert.equal(await code('GET', maps), 200)
  assert.equal(await code('DELETE', `${maps}/a`), 200)
  isShort = false
  assert.equal(await code('POST', maps, { metadata: { name: 'b' } }), 201)
})
