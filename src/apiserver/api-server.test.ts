import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { startTestServer } from './test-server.ts'

test('events last as long as the server is told, in both of their groups, and other objects for ever', async () => {
  const simulation = new Simulation({ seed: 1 })
  const cleanUps: (() => unknown)[] = []
  const t = { after: (action: () => unknown) => void cleanUps.push(action) } as never
  const { request } = await simulation.run(startTestServer(t, simulation.host('api'), { eventTtlMs: 10_000 }))
  const send = (method: string, url: string, body?: object): ReturnType<typeof request> =>
    simulation.run(request(method, url, body))
  const events = '/api/v1/namespaces/default/events'
  const involvedObject = { namespace: 'default', kind: 'Pod', name: 'p' }
  await send('POST', events, {
    metadata: { name: 'a' },
    involvedObject,
    reason: 'r',
    message: 'm',
    type: 'Normal',
  })
  await send('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } })
  await simulation.advance(8_000)
  assert.equal((await send('GET', `${events}/a`)).code, 200)
  assert.equal((await send('GET', '/apis/events.k8s.io/v1/namespaces/default/events/a')).code, 200)
  await simulation.advance(4_000)
  assert.equal((await send('GET', `${events}/a`)).code, 404)
  assert.equal((await send('GET', '/api/v1/namespaces/default/configmaps/a')).code, 200)
  for (const cleanUp of cleanUps) await simulation.run(Promise.resolve(cleanUp()))
})
