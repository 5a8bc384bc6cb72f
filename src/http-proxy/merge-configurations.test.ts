import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeConfigurations } from './merge-configurations.ts'
import type { ProxyConfiguration, ProxyListener, ProxyRoute, VirtualHost } from './proxy-configuration.ts'

function hostOf(hostname: string, ...routes: readonly string[]): VirtualHost {
  const match = { path: { type: 'prefix', value: '/' }, headers: [], queryParameters: [] } as const
  const all = routes.map((id): ProxyRoute => ({ id, match, filters: [], backends: [], timeouts: {} }))
  return { hostname, wildcard: 'one-label', routes: all }
}

function source(id: string, changes: Partial<ProxyListener>): ProxyConfiguration {
  const listener = {
    id,
    host: '192.0.2.1',
    port: 443,
    protocol: 'tls',
    certificates: [],
    virtualHosts: [],
  } as const
  const backend = { id, protocol: 'http1', endpoints: [], hasClientAffinity: false } as const
  return { listeners: [{ ...listener, ...changes }], backends: new Map([[id, backend]]) }
}

test('listeners of several sources on one port become one, whose first source counts', () => {
  const pair = { cert: '', key: '' }
  const merged = mergeConfigurations([
    source('first', {
      certificates: [
        { hostnames: ['a'], ...pair },
        { hostnames: [], ...pair },
      ],
      virtualHosts: [hostOf('a', '1')],
    }),
    source('second', {
      certificates: [
        { hostnames: ['a', 'b'], ...pair },
        { hostnames: [], ...pair },
      ],
      virtualHosts: [hostOf('a', '2'), hostOf('b', '3')],
    }),
    source('third', { port: 80, protocol: 'http' }),
    source('fourth', { protocol: 'passthrough' }),
  ])
  assert.deepEqual(
    merged.listeners.map(({ id }) => id),
    ['first', 'third'],
  )
  const [tls] = merged.listeners
  assert.deepEqual(
    tls?.certificates.map(({ hostnames }) => hostnames),
    [['a'], [], ['b']],
  )
  assert.deepEqual(
    tls?.virtualHosts.map(({ hostname, routes }) => [hostname, ...routes.map(({ id }) => id)]),
    [
      ['a', '1', '2'],
      ['b', '3'],
    ],
  )
  assert.deepEqual([...merged.backends.keys()], ['first', 'second', 'third', 'fourth'])
})
