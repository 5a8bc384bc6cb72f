import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forbidden } from '#/api/errors.ts'
import { nodePlatform } from '#/platform/node.ts'
import type { AdmissionPlugin } from './admission/admission-chain.ts'
import { LimitedServer } from './flow-control/test-limited-server.ts'
import { measure } from './measure.ts'
import { Metrics } from './metrics.ts'
import { pipeline } from './pipeline.ts'
import type { ApiResponse } from './request.ts'
import { requestTimeout } from './stages.ts'
import { testRequest } from './test-request.ts'
import { startTestServer } from './test-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

/** The values of the series of a family whose labels contain all the given ones, such as `reason="time-out"`. */
function valuesOf(metrics: Metrics, family: string, ...labels: readonly string[]): readonly number[] {
  const lines = metrics.registry.render().split('\n')
  return lines
    .filter(line => line.startsWith(`${family}{`) || line.startsWith(`${family} `))
    .filter(line => labels.every(label => line.includes(label)))
    .map(line => Number(line.split(' ').at(-1)))
}

test('a request that times out is a termination, and its handler is counted when it ends', async () => {
  const metrics = new Metrics()
  const gate = Promise.withResolvers<ApiResponse>()
  const { clock } = platform
  const stages = [
    measure({ metrics, clock, resourceOf: () => undefined }),
    requestTimeout({ clock, metrics }, 5),
  ]
  const handle = pipeline(platform, stages, () => gate.promise)
  const { request } = testRequest('/version', {})
  assert.equal((await handle(request)).status, 504)
  assert.deepEqual(valuesOf(metrics, 'apiserver_request_terminations_total', 'code="504"'), [1])
  assert.deepEqual(valuesOf(metrics, 'apiserver_request_post_timeout_total'), [])
  gate.resolve({ status: 200 })
  await clock.turn()
  const labels = ['source="timeout-handler"', 'status="ok"']
  assert.deepEqual(valuesOf(metrics, 'apiserver_request_post_timeout_total', ...labels), [1])
})

test('the SLI excludes the time in webhooks and queues, and a gone client is an abort', async () => {
  const metrics = new Metrics()
  let nowMs = 0
  const clock = { ...platform.clock, monotonicMs: () => nowMs }
  const stage = measure({ metrics, clock, resourceOf: () => undefined })
  const handle = pipeline(platform, [stage], async context => {
    context.excludedMs = 3_000
    nowMs += 5_000
    return { status: 200 }
  })
  const { request } = testRequest('/version', {})
  await handle(request)
  assert.deepEqual(valuesOf(metrics, 'apiserver_request_duration_seconds_sum'), [5])
  assert.deepEqual(valuesOf(metrics, 'apiserver_request_sli_duration_seconds_sum'), [2])
  assert.deepEqual(valuesOf(metrics, 'apiserver_request_aborts_total'), [])
  await handle({ ...request, signal: AbortSignal.abort() })
  assert.deepEqual(valuesOf(metrics, 'apiserver_request_aborts_total'), [1])
})

test('flow control counts dispatched, waiting and rejected requests by level and schema', async () => {
  const server = await LimitedServer.start({ seats: 60, serviceMs: 100 })
  const { simulation, metrics } = server
  const eve = { username: 'eve', groups: ['system:authenticated'] }
  const flow = ['flow_schema="global-default"', 'priority_level="global-default"']
  const of = (name: string, ...more: readonly string[]): readonly number[] =>
    valuesOf(metrics, `apiserver_flowcontrol_${name}`, ...flow, ...more)
  const { limit } = server.flowControl.levels.find(level => level.name === 'global-default')!
  const canceling = new AbortController()
  const waits = limit + 5
  const answers = Array.from({ length: waits }, () => server.send(eve, 'GET /api/v1/nodes/a'))
  const canceled = server.send(eve, 'GET /api/v1/nodes/a', canceling.signal)
  await simulation.advance(10)
  assert.deepEqual(of('current_executing_requests'), [limit])
  assert.deepEqual(of('current_inqueue_requests'), [6])
  assert.deepEqual(of('current_inqueue_seats'), [6])
  assert.equal(metrics.requests.inQueue.readOnly.value, 6)
  canceling.abort()
  assert.equal((await simulation.run(canceled)).code, 429)
  assert.deepEqual(of('rejected_requests_total', 'reason="cancelled"'), [1])
  await simulation.run(Promise.all(answers))
  assert.deepEqual(of('dispatched_requests_total'), [waits])
  assert.deepEqual(of('request_wait_duration_seconds_count', 'execute="true"'), [5])
  assert.deepEqual(of('request_wait_duration_seconds_count', 'execute="false"'), [1])
  assert.deepEqual(of('request_execution_seconds_count', 'type="regular"'), [waits])
  assert.deepEqual(of('current_executing_requests'), [0])
  assert.deepEqual(of('current_inqueue_requests'), [0])
  const level = 'priority_level="global-default"'
  assert.deepEqual(valuesOf(metrics, 'apiserver_flowcontrol_current_limit_seats', level), [limit])
  const seats = 'apiserver_flowcontrol_priority_level_seat_utilization'
  // All seats were in use twice for 100 ms, in nanoseconds.
  const [below = 0] = valuesOf(metrics, `${seats}_bucket`, level, 'le="0.99"')
  const [all = 0] = valuesOf(metrics, `${seats}_count`, level)
  assert.deepEqual([limit, all - below], [5, 200e6])
  server.stop()
})

test('admission plugins, access decisions and allocations are measured', async t => {
  const metrics = new Metrics()
  const plugin: AdmissionPlugin = {
    name: 'Refusing',
    handles: ({ resource }) => resource.plural === 'services',
    validate({ object }) {
      if (object?.metadata.name === 'no') throw forbidden({ group: '', kind: 'services' }, 'refused')
    },
  }
  const { request, as } = await startTestServer(t, platform, { metrics, admission: () => [plugin] })
  const services = '/api/v1/namespaces/default/services'
  const service = (name: string, spec = {}) => ({
    metadata: { name },
    spec: { ports: [{ port: 80 }], ...spec },
  })
  assert.equal((await request('POST', services, service('yes'))).code, 201)
  assert.equal((await request('POST', services, service('no'))).code, 403)
  assert.equal((await request('POST', services, service('static', { clusterIP: '10.96.0.9' }))).code, 201)
  assert.equal((await request('POST', services, service('taken', { clusterIP: '10.96.0.9' }))).code, 422)
  const controller = 'apiserver_admission_controller_admission_duration_seconds_count'
  const labels = ['name="Refusing"', 'operation="CREATE"', 'type="validate"']
  assert.deepEqual(valuesOf(metrics, controller, ...labels, 'rejected="false"'), [3])
  assert.deepEqual(valuesOf(metrics, controller, ...labels, 'rejected="true"'), [1])
  const step = 'apiserver_admission_step_admission_duration_seconds_count'
  assert.deepEqual(valuesOf(metrics, step, 'type="validate"', 'rejected="true"'), [1])
  const allocator = 'kube_apiserver_clusterip_allocator'
  // With the address of the service kubernetes.
  assert.deepEqual(valuesOf(metrics, `${allocator}_allocation_total`, 'scope="static"'), [2])
  assert.deepEqual(valuesOf(metrics, `${allocator}_allocation_errors_total`, 'scope="static"'), [1])
  assert.deepEqual(valuesOf(metrics, `${allocator}_allocated_ips`), [3])
  await as({ username: 'bob', groups: [] })('GET', '/api/v1/secrets')
  await as({ username: 'carol@example.com', groups: ['system:authenticated'] })('GET', '/version')
  assert.deepEqual(valuesOf(metrics, 'authorization_attempts_total', 'result="no-opinion"'), [1])
  assert.deepEqual(valuesOf(metrics, 'apiserver_authorization_decisions_total', 'type="RBAC"'), [1])
  assert.deepEqual(valuesOf(metrics, 'authenticated_user_requests', 'username="email_id"'), [1])
})
