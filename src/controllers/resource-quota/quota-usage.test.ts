import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Pod, ResourceQuota } from '#/api/generated/core/v1.ts'
import { configMaps, pods, services } from '#/api/generated/core/v1-resources.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { evaluatorFor, formatAmounts } from '#/api/quota.ts'
import { formatTime } from '#/api/text/time.ts'
import { QuotaUsage, type CountedKind } from './quota-usage.ts'
import { stored } from '../test-stored.ts'

function kindOf(resource: Resource): CountedKind {
  return { name: resource.plural, evaluator: evaluatorFor(resource)! }
}

const podKind = kindOf(pods)
const serviceKind = kindOf(services)
const mapKind = kindOf(configMaps)
const kinds = [podKind, serviceKind, mapKind]

function quotaOf(names: readonly string[], spec: ResourceQuota['spec'] = {}): ResourceQuota {
  return { metadata: {}, spec: { ...spec, hard: Object.fromEntries(names.map(name => [name, '100'])) } }
}

function podOf(name: string, cpu?: string, more: Partial<Pod> = {}): Stored<Pod> {
  const resources = cpu === undefined ? {} : { requests: { cpu } }
  const { metadata, ...rest } = more
  return stored({
    metadata: { ...metadata, namespace: 'n', name },
    spec: { containers: [{ name: 'a', image: 'a', resources }] },
    ...rest,
  })
}

function usageOf(quota: ResourceQuota, included = kinds): QuotaUsage {
  const usage = new QuotaUsage(quota, kinds)
  for (const kind of included) usage.include(kind, [], 0)
  return usage
}

test('usage follows added, changed and deleted objects, and decreases are released', () => {
  const usage = usageOf(quotaOf(['pods', 'requests.cpu', 'count/configmaps']))
  const shows = (counted: string, released = ''): void => {
    assert.deepEqual([formatAmounts(usage.counted), formatAmounts(usage.released)], [counted, released])
  }
  shows('count/configmaps=0,pods=0,requests.cpu=0')
  assert.equal(usage.change(podKind, podOf('a', '500m'), 0), true)
  assert.equal(usage.change(podKind, podOf('b', '2'), 0), true)
  shows('count/configmaps=0,pods=2,requests.cpu=2500m')
  assert.equal(usage.change(podKind, podOf('a', '500m', { status: { phase: 'Running' } }), 0), false)
  assert.equal(usage.change(podKind, podOf('b', '2', { status: { phase: 'Succeeded' } }), 0), true)
  shows('count/configmaps=0,pods=1,requests.cpu=500m', 'pods=1,requests.cpu=2')
  usage.confirmReleased(new Map(usage.released))
  assert.equal(usage.remove(podKind, 'n/a'), true)
  assert.equal(usage.remove(podKind, 'n/b'), false)
  shows('count/configmaps=0,pods=0,requests.cpu=0', 'pods=1,requests.cpu=500m')
  usage.discardReleased()
  shows('count/configmaps=0,pods=0,requests.cpu=0')
  assert.equal(usage.change(serviceKind, stored({ metadata: { namespace: 'n', name: 's' } }), 0), false)
})

test('only objects in the quota scopes count', () => {
  const usage = usageOf(quotaOf(['pods'], { scopes: ['BestEffort'] }))
  usage.change(podKind, podOf('a', '1'), 0)
  assert.equal(formatAmounts(usage.counted), 'pods=0')
  usage.change(podKind, podOf('b'), 0)
  assert.equal(formatAmounts(usage.counted), 'pods=1')
})

test('a resource is counted when all kinds that count towards it are included', () => {
  const usage = usageOf(quotaOf(['pods', 'services', 'count/things.example.com']), [])
  assert.deepEqual(
    [...usage.awaited].map(({ name }) => name),
    ['pods', 'services'],
  )
  assert.equal(usage.change(podKind, podOf('a'), 0), false)
  assert.equal(formatAmounts(usage.counted), '')
  usage.include(podKind, [podOf('a'), podOf('b')], 0)
  assert.equal(formatAmounts(usage.counted), 'pods=2')
  usage.include(podKind, [], 0)
  usage.include(serviceKind, [], 0)
  assert.equal(formatAmounts(usage.counted), 'pods=2,services=0')
  assert.equal(formatAmounts(usage.released), '')
})

test('a terminating pod past its grace period stops counting without an event', () => {
  const usage = usageOf(quotaOf(['pods', 'count/pods']))
  const going = (name: string, atMs: number): Stored<Pod> => {
    return podOf(name, '1', {
      metadata: { deletionTimestamp: formatTime(atMs), deletionGracePeriodSeconds: 30 },
    })
  }
  assert.equal(usage.nextChangeMs, Infinity)
  usage.change(podKind, going('a', 50_000), 0)
  assert.equal(usage.nextChangeMs, 80_001)
  usage.change(podKind, going('b', 40_000), 0)
  assert.equal(usage.nextChangeMs, 70_001)
  assert.equal(usage.change(podKind, going('b', 20_000), 0), true)
  assert.equal(usage.nextChangeMs, 50_001)
  usage.expire(50_000)
  assert.equal(formatAmounts(usage.counted), 'count/pods=2,pods=2')
  usage.expire(60_000)
  assert.equal(formatAmounts(usage.counted), 'count/pods=2,pods=1')
  assert.equal(formatAmounts(usage.released), 'pods=1')
  usage.remove(podKind, 'n/a')
  assert.equal(usage.nextChangeMs, Infinity)
  assert.equal(formatAmounts(usage.counted), 'count/pods=1,pods=0')
})

const change = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  kind: fc.constantFrom<'pod' | 'service' | 'map'>('pod', 'service', 'map'),
  cpu: fc.constantFrom(undefined, '1', '250m', '0', '3k'),
  phase: fc.constantFrom('Running', 'Failed'),
  isGone: fc.boolean(),
})

test('the usage equals the sum over existing objects after any sequence of changes', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), fc.boolean(), (changes, isScoped) => {
      const names = ['pods', 'cpu', 'services', 'configmaps', 'count/configmaps', 'services.nodeports']
      const quota = quotaOf(names, isScoped ? { scopes: ['NotBestEffort'] } : {})
      const usage = usageOf(quota)
      const there = new Map<CountedKind, Map<string, Stored>>(kinds.map(kind => [kind, new Map()]))
      for (const { name, kind: kindName, cpu, phase, isGone } of changes) {
        const kind = { pod: podKind, service: serviceKind, map: mapKind }[kindName]
        const spec = { type: 'NodePort', ports: [{ port: 1 }] }
        const object =
          kind === podKind
            ? podOf(name, cpu, { status: { phase } })
            : stored({ metadata: { namespace: 'n', name }, ...(kind === serviceKind && cpu ? { spec } : {}) })
        if (isGone) there.get(kind)?.delete(keyOf(object))
        else there.get(kind)?.set(keyOf(object), object)
        if (isGone) usage.remove(kind, keyOf(object))
        else usage.change(kind, object, 0)
      }
      const anew = new QuotaUsage(quota, kinds)
      for (const kind of kinds) anew.include(kind, [...(there.get(kind)?.values() ?? [])], 0)
      assert.equal(formatAmounts(usage.counted), formatAmounts(anew.counted))
    }),
    { numRuns: 100 },
  )
})
