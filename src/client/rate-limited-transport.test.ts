import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { rateLimitedTransport } from './rate-limited-transport.ts'
import type { TransportRequest } from './transport.ts'

test('requests beyond the burst wait for the rate; watches do not', async () => {
  const simulation = new Simulation({ seed: 1 })
  const sent: string[] = []
  const response = {
    status: 200,
    headers: {},
    value: async () => undefined,
    events: async function* () {},
    bytes: async function* () {},
    discard: () => undefined,
  }
  const startMs = simulation.nowMs
  const inner = {
    request: async ({ path }: TransportRequest) => {
      sent.push(`${path} ${simulation.nowMs - startMs}`)
      return response
    },
  }
  const limited = rateLimitedTransport(inner, simulation.clock, { perSecond: 2, burst: 2 })
  const request = (path: string, query = ''): Promise<unknown> =>
    limited.request({
      method: 'GET',
      path,
      query: new URLSearchParams(query),
      headers: {},
      signal: new AbortController().signal,
    })
  const all = [request('/a'), request('/b'), request('/c'), request('/d'), request('/w', 'watch=1')]
  await simulation.run(Promise.all(all))
  assert.deepEqual(sent.toSorted(), ['/a 0', '/b 0', '/c 500', '/d 1000', '/w 0'])
})
