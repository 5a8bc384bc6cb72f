import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configMaps, pods } from '#/api/generated/core/v1-resources.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import { anonymous } from '#/kubeconfig/credentials.ts'
import { Simulation } from '#/platform/simulated.ts'
import { faultyTransport, type FaultOptions } from '#/simulation/faulty-transport.ts'
import { clientOf } from './client.ts'
import { HttpTransport } from './http.ts'
import { RestClientMetrics } from './rest-client-metrics.ts'
import { httpOverHandle } from './testdata/http-over-handle.ts'
import { SmallServer } from './testdata/small-server.ts'

test('requests are counted by code, method and host, with duration and sizes; watches have no duration', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { clock, random } = simulation
  const faults: FaultOptions = { clock, random, requestFaults: ['refuse'], streamFaults: [], chance: 0 }
  const handle = faultyTransport(new SmallServer({ clock }).handle, faults)
  const registry = new MetricsRegistry()
  const metrics = new RestClientMetrics(registry).forHost('server:6443')
  const platform = simulation.host('client')
  const transport = new HttpTransport({
    platform,
    connect: httpOverHandle(handle, { random, chance: 0 }),
    server: { url: 'https://server:6443' },
    credentials: anonymous,
    metrics,
  })
  const client = clientOf({ platform, transport, userAgent: 'test', metrics })
  const web = { namespace: 'default', name: 'web' }
  await simulation.run(client.create(configMaps, { metadata: web, data: { a: '1' } }))
  await simulation.run(client.get(configMaps, web))
  await simulation.run(client.find(configMaps, { ...web, name: 'other' }))
  const watch = client.watch(pods, { timeoutMs: 1_000 })[Symbol.asyncIterator]()
  const first = watch.next()
  await simulation.advance(10)
  faults.chance = 1
  await assert.rejects(simulation.run(client.get(configMaps, web)))
  await simulation.run(Promise.allSettled([watch.return?.(), first]))
  const lines = registry.render().split('\n')
  const has = (line: string): void => assert.ok(lines.includes(line), `${line} in\n${lines.join('\n')}`)
  has('rest_client_requests_total{code="201",host="server:6443",method="POST"} 1')
  has('rest_client_requests_total{code="200",host="server:6443",method="GET"} 2')
  has('rest_client_requests_total{code="404",host="server:6443",method="GET"} 1')
  has('rest_client_requests_total{code="<error>",host="server:6443",method="GET"} 1')
  has('rest_client_request_duration_seconds_count{host="server:6443",verb="GET"} 3')
  has('rest_client_request_size_bytes_bucket{host="server:6443",verb="POST",le="64"} 0')
  has('rest_client_request_size_bytes_count{host="server:6443",verb="POST"} 1')
  has('rest_client_response_size_bytes_count{host="server:6443",verb="POST"} 1')
})
