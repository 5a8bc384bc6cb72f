import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiRequest } from '#/api/transport.ts'
import { Simulation } from '#/platform/simulated.ts'
import { Activity, describeActivity } from './activity.ts'

function setUp(repeatsMax = 3) {
  const simulation = new Simulation({ seed: 1 })
  const answers: PromiseWithResolvers<{ readonly status: number }>[] = []
  const handle = (): Promise<{ readonly status: number }> => {
    const answer = Promise.withResolvers<{ readonly status: number }>()
    answers.push(answer)
    return answer.promise
  }
  const activity = new Activity({ handle, clock: simulation.clock, repeatsMax })
  /** Sends `METHOD /path`; the response is sent at once unless `isAnswered` is false. */
  const ask = (text: string, isAnswered = true): Promise<unknown> => {
    const [method = '', path = ''] = text.split(' ')
    const response = activity.handle(requestOf(method, path))
    if (isAnswered) answers.pop()?.resolve({ status: 200 })
    return response
  }
  return { simulation, activity, ask, answers }
}

function requestOf(method: string, path: string): ApiRequest {
  const peer = { address: '127.0.0.1', user: { username: 'me', groups: [] } }
  const { signal } = new AbortController()
  const body = { bytes: async () => new Uint8Array() }
  return { method, path, query: new URLSearchParams(), headers: {}, body, signal, peer }
}

test('writes count as activity, reads and heartbeats do not', async () => {
  const { activity, ask } = setUp()
  const isQuietAfter = async (request: string): Promise<boolean> => {
    await ask(request)
    return activity.isQuiet()
  }
  assert.equal(activity.isQuiet(), true)
  assert.equal(await isQuietAfter('GET /api/v1/pods'), true)
  assert.equal(
    await isQuietAfter('PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a'),
    true,
  )
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    assert.equal(await isQuietAfter(`${method} /api/v1/nodes/a`), false)
    assert.equal(activity.isQuiet(), true, 'only once')
  }
})

test('a request in progress counts as activity', async () => {
  const { activity, ask, answers } = setUp()
  const asked = ask('GET /api/v1/pods', false)
  assert.equal(activity.isQuiet(), false)
  answers[0]?.resolve({ status: 200 })
  await asked
  assert.equal(activity.isQuiet(), true)
})

test('the most frequent writes are known while counting', async () => {
  const { activity, ask } = setUp(100)
  await ask('PUT /before')
  activity.startCounting()
  for (const path of ['/a', '/b', '/b', '/c', '/c', '/c']) await ask(`PUT ${path}`)
  assert.deepEqual(activity.busiest(2), ['me: PUT /c (3 times)', 'me: PUT /b (2 times)'])
  activity.stopCounting()
  await ask('PUT /a')
  activity.startCounting()
  assert.deepEqual(activity.busiest(2), [])
})

test('repeated identical writes beyond the limit fail', async () => {
  const { activity, ask, simulation } = setUp()
  for (let time = 0; time < 10; time++) await ask('PUT /a')
  activity.startCounting()
  for (let time = 0; time < 10; time++) await ask('POST /pods')
  for (const path of ['/a', '/b']) for (let time = 0; time < 3; time++) await ask(`PUT ${path}`)
  await simulation.advance(1_000)
  for (let time = 0; time < 3; time++) await ask('PUT /a')
  assert.equal(activity.runaway, undefined)
  await assert.rejects(ask('PUT /a'), /me: PUT \/a: more than 3 times per second/)
  assert.equal(activity.runaway, 'me: PUT /a')
  activity.startCounting()
  await ask('PUT /a')
  assert.equal(activity.runaway, undefined)
})

test('the description lists pending work and the most frequent writes', () => {
  const keys = ['a/1', 'a/2', 'a/3', 'a/4', 'a/5', 'a/6', 'a/7']
  const busy = new Map([
    ['deployment-controller', ['default/web']],
    ['kubelet of node-1', keys],
  ])
  const activity = { busiest: () => ['me: PUT /a (7 times)'], runaway: undefined }
  assert.equal(
    describeActivity({ withinMs: 90_000, activity, busy }),
    `the cluster did not settle within 1m30s
pending work:
  deployment-controller: default/web
  kubelet of node-1: a/1, a/2, a/3, a/4, a/5 and 2 others
most frequent writes:
  me: PUT /a (7 times)`,
  )
  assert.equal(
    describeActivity({
      withinMs: 1,
      activity: { busiest: () => [], runaway: 'me: PUT /a' },
      busy: new Map(),
    }),
    'the cluster does not settle: repeated write me: PUT /a',
  )
})
