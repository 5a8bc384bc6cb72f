import assert from 'node:assert/strict'
import { test } from 'node:test'
import { persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type { Pod, Volume } from '#/api/generated/core/v1.ts'
import { csiNodes, storageClasses, volumeAttachments } from '#/api/generated/storage/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { claimOf, classOf, volumeOf } from '#/controllers/test-storage.ts'
import { SchedulerCache } from '../scheduler-cache.ts'
import { podInfoOf } from '../pod-info.ts'
import { nodeOf, podOf, stored } from '../test-cluster.ts'
import { nodeVolumeLimits } from './node-volume-limits.ts'
import { startPluginWorld } from './test-world.ts'

const world = await startPluginWorld()
const plugin = nodeVolumeLimits(world.handle, {})
const { client, run } = world

/**
 * Claims a to e have volumes of one driver, f of another without a limit; g is unbound with the class of the
 * first.
 */
for (const [name, driver] of ['a x', 'b x', 'c x', 'd x', 'e x', 'f y'].map(each => each.split(' '))) {
  const csi = { driver: `${driver}.example.com`, volumeHandle: name! }
  await run(client.create(persistentVolumes, volumeOf(`v-${name}`, '1Gi', { csi })))
  await run(client.create(persistentVolumeClaims, claimOf(name!, '1Gi', { volumeName: `v-${name}` })))
}
const lazy = { provisioner: 'x.example.com', volumeBindingMode: 'WaitForFirstConsumer' }
await run(client.create(storageClasses, classOf('lazy', lazy)))
await run(client.create(persistentVolumeClaims, claimOf('g', '1Gi', { storageClassName: 'lazy' })))
const driver = (name: string, count: number): object => ({ name, nodeID: 'n', allocatable: { count } })
await run(
  client.create(csiNodes, {
    metadata: {
      name: 'n1',
      annotations: { 'storage.alpha.kubernetes.io/migrated-plugins': 'kubernetes.io/aws-ebs' },
    },
    spec: { drivers: [driver('x.example.com', 2), driver('ebs.csi.aws.com', 1)] as never },
  }),
)
await run(
  client.create(csiNodes, {
    metadata: { name: 'n3' },
    spec: { drivers: [driver('x.example.com', 2)] as never },
  }),
)
await run(
  client.create(volumeAttachments, {
    metadata: { name: 'at-n3' },
    spec: { attacher: 'x.example.com', nodeName: 'n3', source: { persistentVolumeName: 'v-e' } },
  }),
)
await world.settle()

/** Claims by name; `aws` is an in-tree disk. */
function pod(name: string, claims: string): Stored<Pod> {
  const volumes = claims
    .split(' ')
    .filter(each => each !== '')
    .map((claim): Volume => {
      if (claim.startsWith('aws')) return { name: claim, awsElasticBlockStore: { volumeID: claim } }
      return { name: claim, persistentVolumeClaim: { claimName: claim } }
    })
  return stored(podOf(name, { uid: name, volumes }))
}

function check(node: string, present: readonly string[], wanted: string, expected: string | undefined): void {
  const cache = new SchedulerCache()
  cache.setNode(stored(nodeOf(node)))
  present.forEach((claims, index) => cache.assume(podInfoOf(pod(`p${index}`, claims)), node))
  const snapshot = cache.snapshot()
  const said = plugin.preFilter!(podInfoOf(pod('new', wanted)), snapshot)
  const status = said === undefined || 'reason' in said ? said : said.filter(snapshot.get(node)!)
  assert.equal(status?.reason, expected, `${wanted} beside ${present.join(', ')} on ${node}`)
}

test('NodeVolumeLimits: the limit of a driver is not exceeded', () => {
  const full = 'node(s) exceed max volume count'
  check('n1', [], '', undefined)
  check('n1', [], 'a b', undefined)
  check('n1', [], 'a b c', full)
  check('n1', ['a'], 'b', undefined)
  check('n1', ['a', 'b'], 'c', full)
  check('n1', ['a', 'b'], 'f', undefined)
  check('n1', ['a', 'b'], 'b', undefined)
  check('n1', ['a', 'a', 'a'], 'b', undefined)
  check('n1', ['a', 'b'], 'g', full)
  check('n1', ['g', 'a'], 'b', full)
  check('n1', ['gone', 'a'], 'b', undefined)
  check('n2', ['a', 'b', 'c'], 'd', undefined)
  check('n1', ['aws-1'], 'aws-2', full)
  check('n3', ['aws-1'], 'aws-2', undefined)
  check('n3', ['a'], 'b', full)
  check('n3', ['e'], 'b', undefined)
  check('n1', [], 'gone', 'looking up PVC default/gone: persistentvolumeclaim "gone" not found')
})

test('NodeVolumeLimits: a raised limit requeues a pod', () => {
  const before = stored({ metadata: { name: 'n' }, spec: { drivers: [driver('x', 2)] } })
  const helps = (count: number): boolean | undefined => {
    const after = stored({ metadata: { name: 'n' }, spec: { drivers: [driver('x', count)] } })
    return plugin.eventsToRegister
      ?.find(({ on }) => on.includes('update'))
      ?.queueingHint?.(pod('p', 'a'), { before, after })
  }
  assert.deepEqual([helps(1), helps(2), helps(3)], [false, false, true])
})
