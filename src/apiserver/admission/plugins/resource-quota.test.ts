import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { nodePlatform } from '#/platform/node.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import { delayedStore } from '#/store/test-delayed-store.ts'
import { ConfigurationError } from '../plugin-context.ts'
import { parseQuotaConfiguration } from './resource-quota/configuration.ts'
import { QuotaServer } from './resource-quota/test-quota-server.ts'

async function start(t: TestContext, configuration?: JsonValue): Promise<QuotaServer> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const store = await MemoryStore.open({ platform })
  const stopping = new AbortController()
  t.after(() => stopping.abort())
  const { signal } = stopping
  return QuotaServer.start({ platform, store, signal, ...(configuration !== undefined && { configuration }) })
}

/** A pod with one container. */
const named = (name: string, spec: object = {}) => {
  return { metadata: { name }, spec: { containers: [{ name: 'a', image: 'nginx' }], ...spec } }
}
const asking = (name: string, requests: object, limits: object = {}, spec: object = {}) => {
  return named(name, {
    containers: [{ name: 'a', image: 'nginx', resources: { requests, limits } }],
    ...spec,
  })
}

test('ResourceQuota: rejects creation over the quota with the amounts', async t => {
  const server = await start(t)
  await server.createQuota('q', { hard: { pods: '10' }, used: { pods: '9' } })
  assert.equal(await server.create('pods', named('a')), 'done')
  assert.equal(
    await server.create('pods', named('b')),
    'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=10, limited: pods=10',
  )
  assert.deepEqual(await server.used('q'), { pods: '10' })
  assert.equal(await server.count('pods'), 1)
})

test('ResourceQuota: charges only objects of its namespace', async t => {
  const server = await start(t)
  await server.createQuota('q', {
    hard: { 'count/deployments.apps': '0', 'secrets': '0', 'configmaps': '1' },
  })
  assert.match(
    await server.create('secrets', { metadata: { name: 's' } }),
    /secrets "s" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=0, limited: secrets=0/,
  )
  assert.equal(await server.create('configmaps', { metadata: { name: 'c' } }), 'done')
  assert.equal(await server.create('pods', named('a')), 'done')
  assert.match(
    await server.create('deployments.apps', {
      metadata: { name: 'd' },
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { ...named('t'), metadata: { labels: { a: 'b' } } },
      },
    }),
    /count\/deployments.apps=1, used: count\/deployments.apps=0/,
  )
  assert.deepEqual(await server.used('q'), {
    'count/deployments.apps': '0',
    'secrets': '0',
    'configmaps': '1',
  })
})

test('ResourceQuota: requires limited resources to be specified and status to be computed', async t => {
  const server = await start(t)
  await server.createQuota('q', { hard: { 'limits.cpu': '2' } })
  assert.equal(
    await server.create('pods', named('a')),
    'pods "a" is forbidden: failed quota: q: must specify limits.cpu for: a',
  )
  assert.equal(await server.create('pods', asking('b', {}, { cpu: '1500m' })), 'done')
  assert.equal(
    await server.create('pods', asking('c', {}, { cpu: '501m' })),
    'pods "c" is forbidden: exceeded quota: q, ' +
      'requested: limits.cpu=501m, used: limits.cpu=1500m, limited: limits.cpu=2',
  )
  await server.setStatus('q', { hard: { 'limits.cpu': '2' } })
  assert.equal(
    await server.create('pods', asking('c', {}, { cpu: '1m' })),
    'pods "c" is forbidden: status unknown for quota: q, resources: limits.cpu',
  )
})

test('ResourceQuota: every quota whose scopes match must have room', async t => {
  const server = await start(t)
  await server.createQuota('best', { hard: { pods: '1' }, scopes: ['BestEffort'] })
  const matchExpressions = [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }]
  await server.createQuota('better', { hard: { pods: '1' }, scopeSelector: { matchExpressions } })
  assert.equal(await server.create('pods', asking('a', { cpu: '1' })), 'done')
  assert.equal(await server.create('pods', named('b')), 'done')
  assert.match(await server.create('pods', named('c', { priorityClassName: 'high' })), /exceeded quota: best/)
  assert.deepEqual(await server.used('better'), { pods: '0' })
  assert.equal(
    await server.create('pods', asking('d', { cpu: '1' }, {}, { priorityClassName: 'high' })),
    'done',
  )
  assert.deepEqual([await server.used('best'), await server.used('better')], [{ pods: '1' }, { pods: '1' }])
})

test('ResourceQuota: an update is charged the difference', async t => {
  const server = await start(t)
  await server.createQuota('q', { hard: { 'services.nodeports': '1', 'services': '5' } })
  const spec = (type: string, ports: number) => {
    return {
      type,
      ports: Array.from({ length: ports }, (_, index) => ({ name: `p${index}`, port: 80 + index })),
    }
  }
  const change = (type: string, ports: number) => {
    return server.update('services', 's', (oldObject: object) => ({ ...oldObject, spec: spec(type, ports) }))
  }
  assert.equal(
    await server.create('services', { metadata: { name: 's' }, spec: spec('ClusterIP', 1) }),
    'done',
  )
  assert.equal(await change('NodePort', 1), 'done')
  assert.deepEqual(await server.used('q'), { 'services.nodeports': '1', 'services': '1' })
  assert.match(
    await change('NodePort', 2),
    /requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1/,
  )
  assert.equal(await change('ClusterIP', 2), 'done')
  // Only the quota controller decreases usage.
  assert.deepEqual(await server.used('q'), { 'services.nodeports': '1', 'services': '1' })
})

test('ResourceQuota: a pod that gets activeDeadlineSeconds moves to the Terminating scope', async t => {
  const server = await start(t)
  await server.createQuota('terminating', { hard: { pods: '1' }, scopes: ['Terminating'] })
  const end = (name: string) =>
    server.update('pods', name, (oldObject: { spec: object }) => {
      return { ...oldObject, spec: { ...oldObject.spec, activeDeadlineSeconds: 5 } }
    })
  await server.create('pods', named('a'))
  await server.create('pods', named('b'))
  assert.equal(await end('a'), 'done')
  assert.match(await end('b'), /exceeded quota: terminating/)
})

test('ResourceQuota: a dry run is checked and not charged', async t => {
  const server = await start(t)
  await server.createQuota('q', { hard: { pods: '1' } })
  assert.equal(await server.create('pods', named('a'), { dryRun: true }), 'done')
  assert.deepEqual(await server.used('q'), { pods: '0' })
  await server.create('pods', named('a'))
  assert.match(await server.create('pods', named('b'), { dryRun: true }), /exceeded quota/)
})

test('ResourceQuota: limitedResources require a covering quota', async t => {
  const server = await start(t, {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'ResourceQuotaConfiguration',
    limitedResources: [
      { resource: 'persistentvolumeclaims', matchContains: ['gold.storageclass'] },
      {
        resource: 'pods',
        matchScopes: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high', 'higher'] }],
      },
    ],
  })
  const claim = (name: string, storageClassName: string) => {
    const resources = { requests: { storage: '1Gi' } }
    return { metadata: { name }, spec: { storageClassName, accessModes: ['ReadWriteOnce'], resources } }
  }
  assert.equal(await server.create('persistentvolumeclaims', claim('a', 'silver')), 'done')
  assert.match(
    await server.create('persistentvolumeclaims', claim('b', 'gold')),
    /insufficient quota to consume: gold\.\S+\/persistentvolumeclaims,gold\.\S+\/requests.storage$/,
  )
  assert.equal(await server.create('pods', named('a')), 'done')
  assert.match(
    await server.create('pods', named('b', { priorityClassName: 'high' })),
    /insufficient quota to match these scopes: \[\{PriorityClass In \[high higher\]\}\]$/,
  )
  const matchExpressions = [{ scopeName: 'PriorityClass', operator: 'Exists' }]
  await server.createQuota('q', { hard: { pods: '1' }, scopeSelector: { matchExpressions } })
  assert.equal(await server.create('pods', named('b', { priorityClassName: 'high' })), 'done')
})

test('ResourceQuota: an invalid configuration is rejected', () => {
  const head = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'ResourceQuotaConfiguration' }
  assert.deepEqual(parseQuotaConfiguration(head), [])
  for (const wrong of [
    null,
    [],
    'x',
    {},
    { ...head, kind: 'Pod' },
    { ...head, apiVersion: 'v1' },
    { ...head, others: 1 },
    { ...head, limitedResources: {} },
    { ...head, limitedResources: [{}] },
    { ...head, limitedResources: [{ resource: 'pods', matchScopes: [{}] }] },
  ])
    assert.throws(() => parseQuotaConfiguration(wrong), ConfigurationError)
})

/** Two API servers on a slow store; the seed determines which requests go to which server, and when. */
async function race(seed: number): Promise<void> {
  const simulation = new Simulation({ seed })
  const host = simulation.host('api')
  const stopping = new AbortController()
  const store = await MemoryStore.open({ platform: host })
  const delay = (): Promise<void> => host.clock.sleep(host.random.integer('delay', 5))
  const servers = await simulation.run(
    Promise.all(
      [0, 1].map(() =>
        QuotaServer.start({ platform: host, store: delayedStore(store, delay), signal: stopping.signal }),
      ),
    ),
  )
  await simulation.run(servers[0]!.createQuota('q', { hard: { pods: '10' } }))
  const outcomes = await simulation.run(
    Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        await host.clock.sleep(host.random.integer('when', 20))
        return servers[host.random.integer('where', 2)]!.create('pods', named(`p${index}`))
      }),
    ),
  )
  const done = outcomes.filter(outcome => outcome === 'done').length
  const refused = outcomes.filter(outcome =>
    outcome.endsWith(': pods=1, used: pods=10, limited: pods=10'),
  ).length
  const stored = await simulation.run(servers[0]!.count('pods'))
  assert.deepEqual({ done, refused, stored }, { done: 10, refused: 40, stored: 10 }, `seed ${seed}`)
  assert.deepEqual(await simulation.run(servers[1]!.used('q')), { pods: '10' })
  stopping.abort()
}

test('ResourceQuota: concurrent creation through two servers never exceeds the quota', async () => {
  for (let seed = 0; seed < 40; seed++) await race(seed)
})
