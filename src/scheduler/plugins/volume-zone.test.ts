import assert from 'node:assert/strict'
import { test } from 'node:test'
import { persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { claimOf, classOf, podWithClaims, volumeOf } from '#/controllers/test-storage.ts'
import { SchedulerCache } from '../scheduler-cache.ts'
import { podInfoOf } from '../pod-info.ts'
import { nodeOf, stored } from '../test-cluster.ts'
import { startPluginWorld } from './test-world.ts'
import { volumeZone } from './volume-zone.ts'

const world = await startPluginWorld()
const plugin = volumeZone(world.handle, {})
await world.settle()

const short: Readonly<Record<string, string>> = {
  'zone': 'topology.kubernetes.io/zone',
  'region': 'topology.kubernetes.io/region',
  'old-zone': 'failure-domain.beta.kubernetes.io/zone',
  'old-region': 'failure-domain.beta.kubernetes.io/region',
}

/** `zone=a old-region=b`. */
function labels(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(' ').filter(pair => pair !== '')
  return Object.fromEntries(
    pairs.map(pair => {
      const [name = '', value = ''] = pair.split('=')
      return [short[name] ?? name, value]
    }),
  )
}

let count = 0

async function reasonWith(claim: Parameters<typeof claimOf>[2], node = ''): Promise<string | undefined> {
  const name = `claim-${count++}`
  await world.run(world.client.create(persistentVolumeClaims, claimOf(name, '1Gi', claim)))
  await world.settle()
  const cache = new SchedulerCache()
  cache.setNode(stored(nodeOf('n1', { labels: labels(node) })))
  const snapshot = cache.snapshot()
  const said = plugin.preFilter!(podInfoOf(stored(podWithClaims('web', [name]))), snapshot)
  return (said === undefined || 'reason' in said ? said : said.filter(snapshot.get('n1')!))?.reason
}

async function check(volume: string, node: string, isFine: boolean): Promise<void> {
  const volumeName = `volume-${count++}`
  const made = volumeOf(volumeName, '1Gi', {}, { labels: labels(volume) })
  await world.run(world.client.create(persistentVolumes, made))
  const reason = await reasonWith({ volumeName }, node)
  assert.equal(reason, isFine ? undefined : 'node(s) had no available volume zone', `${volume} on ${node}`)
}

test('VolumeZone: zone labels of a volume restrict the nodes', async () => {
  await check('', 'zone=a', true)
  await check('zone=a', 'zone=a', true)
  await check('zone=a', 'zone=b', false)
  await check('zone=a', '', true)
  await check('zone=a', 'region=r', false)
  await check('zone=a__b', 'zone=b', true)
  await check('zone=a__b', 'zone=c', false)
  await check('zone=a region=r', 'zone=a region=r', true)
  await check('zone=a region=r', 'zone=a region=s', false)
  await check('old-zone=a', 'zone=a', true)
  await check('old-zone=a', 'old-zone=a zone=b', true)
  await check('old-region=a', 'region=b', false)
  await check('zone=a', 'old-zone=a', false)
  await check('zone=a____b', 'zone=c', true)
})

test('VolumeZone: claims without a volume', async () => {
  await world.create(storageClasses, classOf('lazy', { volumeBindingMode: 'WaitForFirstConsumer' }))
  await world.create(storageClasses, classOf('now', { volumeBindingMode: 'Immediate' }))
  assert.equal(await reasonWith({ storageClassName: 'lazy' }), undefined)
  assert.equal(await reasonWith({ storageClassName: 'now' }), 'PersistentVolume had no name')
  assert.equal(await reasonWith({ storageClassName: 'gone' }), 'storageclass.storage.k8s.io "gone" not found')
  assert.equal(
    await reasonWith({ storageClassName: '' }),
    'PersistentVolumeClaim had no pv name and storageClass name',
  )
  assert.equal(await reasonWith({ volumeName: 'gone' }), 'persistentvolume "gone" not found')
})
