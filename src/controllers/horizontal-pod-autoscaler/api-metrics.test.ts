import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiError, type ApiError } from '#/api/errors.ts'
import { compileLabelSelector, everything } from '#/api/selectors/selector.ts'
import { clientOf } from '#/client/client.ts'
import type { TransportResponse } from '#/client/transport.ts'
import { Simulation } from '#/platform/simulated.ts'
import { ApiMetrics } from './api-metrics.ts'
import { RestMapper } from './rest-mapper.ts'

/** Metrics of a fake API server with these responses by path and query; other requests fail. */
function metricsOf(answers: Readonly<Record<string, unknown>>): {
  readonly metrics: ApiMetrics
  readonly run: <T>(promise: Promise<T>) => Promise<T>
} {
  const simulation = new Simulation({ seed: 1 })
  const answer = (status: number, value: unknown): TransportResponse => ({
    status,
    headers: { 'content-type': 'application/json' },
    value: () => Promise.resolve(value),
    async *events() {},
    async *bytes() {},
    discard: () => undefined,
  })
  const transport = {
    request: async ({ path, query }: { readonly path: string; readonly query: URLSearchParams }) => {
      const value = answers[query.size === 0 ? path : `${path}?${decodeURIComponent(query.toString())}`]
      const error = value === undefined ? apiError('NotFound', 'the server could not find it') : value
      return error instanceof Error
        ? answer((error as ApiError).code, (error as ApiError).status)
        : answer(200, value)
    },
  }
  const client = clientOf({ platform: simulation.host('test'), transport, userAgent: 'test' })
  return { metrics: new ApiMetrics(client, new RestMapper(client)), run: promise => simulation.run(promise) }
}

const { signal } = new AbortController()
const timestamp = '2026-01-01T00:00:00Z'
const atMs = Date.UTC(2026, 0, 1)
const query = { namespace: 'ns', signal, selector: compileLabelSelector({ matchLabels: { app: 'web' } }) }
const podMetrics = {
  items: [
    {
      metadata: { name: 'a' },
      timestamp,
      window: '30s',
      containers: [
        { name: 'web', usage: { cpu: '250m', memory: '64Mi' } },
        { name: 'log', usage: { cpu: '1234567n' } },
      ],
    },
    {
      metadata: { name: 'b' },
      timestamp,
      window: '1m30s',
      containers: [{ name: 'web', usage: { cpu: '1' } }],
    },
    { metadata: { name: 'c' }, timestamp, window: '30s', containers: [] },
    {
      metadata: { name: 'd' },
      timestamp,
      window: '30s',
      containers: [{ name: 'web', usage: { cpu: 'much' } }],
    },
  ],
}

test('resource metrics: sum of containers or one container; incomplete pods are missing', async () => {
  const path = '/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods?labelSelector=app=web'
  const { metrics, run } = metricsOf({ [path]: podMetrics })
  assert.deepEqual(
    await run(metrics.resource({ ...query, resource: 'cpu' })),
    new Map([
      ['a', { milliValue: 252n, atMs, windowMs: 30_000 }],
      ['b', { milliValue: 1_000n, atMs, windowMs: 90_000 }],
    ]),
  )
  assert.deepEqual([...(await run(metrics.resource({ ...query, resource: 'memory' }))).keys()], [])
  const ofWeb = await run(metrics.resource({ ...query, resource: 'memory', container: 'web' }))
  assert.deepEqual([...ofWeb], [['a', { milliValue: 67_108_864_000n, atMs, windowMs: 30_000 }]])
})

test('custom metrics: both API versions, of pods, objects and namespaces', async () => {
  for (const [version, window] of [
    ['v1beta2', { windowSeconds: 10 }],
    ['v1beta1', { window: 10 }],
  ] as const) {
    const base = `/apis/custom.metrics.k8s.io/${version}/namespaces/ns`
    const of = (value: string, more: object = {}): object => {
      return { items: [{ describedObject: { name: 'a' }, timestamp, value, ...more }] }
    }
    const { metrics, run } = metricsOf({
      '/apis/custom.metrics.k8s.io': {
        versions: [{ version: 'v2' }, { version }],
        preferredVersion: { version: 'v2' },
      },
      [`${base}/pods/*/hits?labelSelector=app=web&metricLabelSelector=verb=GET`]: of('100m', window),
      [`${base}/pods/*/misses?labelSelector=app=web`]: of('2'),
      [`${base}/services/web/hits`]: of('3k'),
      [`${base}/metrics/hits`]: of('5'),
      [`${base}/services/web/none`]: { items: [] },
    })
    const metricSelector = compileLabelSelector({ matchLabels: { verb: 'GET' } })
    assert.deepEqual(
      await run(metrics.pods({ ...query, metric: 'hits', metricSelector })),
      new Map([['a', { milliValue: 100n, atMs, windowMs: 10_000 }]]),
    )
    const misses = await run(metrics.pods({ ...query, metric: 'misses', metricSelector: everything }))
    assert.equal(misses.get('a')?.windowMs, 60_000)
    const ofObject = (kind: string, metric: string): Promise<bigint> => {
      const object = { apiVersion: 'v1', kind, name: 'web' }
      return run(metrics.object({ ...query, object, metric, metricSelector: everything }))
    }
    assert.equal(await ofObject('Service', 'hits'), 3_000_000n)
    assert.equal(await ofObject('Namespace', 'hits'), 5_000n)
    await assert.rejects(ofObject('Service', 'none'), /returned 0 results when we asked for exactly one/)
  }
})

test('external metrics return all series of a name', async () => {
  const path = '/apis/external.metrics.k8s.io/v1beta1/namespaces/ns/queue'
  const { metrics, run } = metricsOf({ [path]: { items: [{ value: '1' }, { value: '500m' }, {}] } })
  const external = (metric: string): Promise<readonly bigint[]> => {
    return run(metrics.external({ ...query, metric, metricSelector: everything }))
  }
  assert.deepEqual(await external('queue'), [1_000n, 500n])
  await assert.rejects(external('other'), {
    message:
      'unable to fetch metrics from external metrics API: ' +
      'the server could not find the requested resource (get other.external.metrics.k8s.io)',
  })
})

test('errors of the metrics API are passed on', async () => {
  const path = '/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods?labelSelector=app=web'
  const cases: readonly [unknown, string][] = [
    [{ items: [] }, 'no metrics returned from resource metrics API'],
    [{}, 'no metrics returned from resource metrics API'],
    [
      undefined,
      'unable to fetch metrics from resource metrics API: ' +
        'the server could not find the requested resource (get pods.metrics.k8s.io)',
    ],
    [
      apiError('ServiceUnavailable', 'service unavailable'),
      'unable to fetch metrics from resource metrics API: ' +
        'the server is currently unable to handle the request (get pods.metrics.k8s.io)',
    ],
    [apiError('Forbidden', 'you may not'), 'unable to fetch metrics from resource metrics API: you may not'],
  ]
  for (const [value, message] of cases) {
    const { metrics, run } = metricsOf({ [path]: value })
    await assert.rejects(run(metrics.resource({ ...query, resource: 'cpu' })), { message })
  }
})
