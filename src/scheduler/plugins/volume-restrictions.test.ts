import assert from 'node:assert/strict'
import { test } from 'node:test'
import { persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod, Volume } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { claimOf } from '#/controllers/test-storage.ts'
import { SchedulerCache } from '../scheduler-cache.ts'
import type { FilterState } from '../framework.ts'
import { podInfoOf } from '../pod-info.ts'
import { nodeOf, podOf, stored } from '../test-cluster.ts'
import { startPluginWorld } from './test-world.ts'
import { volumeRestrictions } from './volume-restrictions.ts'

const world = await startPluginWorld()
const plugin = volumeRestrictions(world.handle, {})
await world.settle()
const claim = (name: string, mode: string): Promise<unknown> =>
  world.create(persistentVolumeClaims, claimOf(name, '1Gi', { accessModes: [mode] }))
await claim('shared', 'ReadWriteOnce')
await claim('own', 'ReadWriteOncePod')

/** `gce:disk`, `ebs:volume`, `iscsi:iqn`, `rbd:image@host+host` or `claim:name`; `!` makes it read-only. */
function parseVolume(text: string): Volume {
  const readOnly = text.endsWith('!')
  const [kind = '', rest = ''] = text.replace('!', '').split(':')
  const [id = '', hosts = 'm1'] = rest.split('@')
  const sources: Readonly<Record<string, Partial<Volume>>> = {
    gce: { gcePersistentDisk: { pdName: id, readOnly } },
    ebs: { awsElasticBlockStore: { volumeID: id, readOnly } },
    iscsi: { iscsi: { iqn: id, lun: 0, targetPortal: 't', readOnly } },
    rbd: { rbd: { image: id, monitors: hosts.split('+'), readOnly } },
    claim: { persistentVolumeClaim: { claimName: id } },
    none: { emptyDir: {} },
  }
  return { name: 'v', ...sources[kind] }
}

function pod(name: string, text: string): Stored<Pod> {
  return stored(podOf(name, { uid: name, volumes: text.split(' ').map(parseVolume) }))
}

/** Checks the status on a node with a pod that has the volumes `present`. */
function check(wanted: string, present: string, expected: string | undefined): void {
  const cache = new SchedulerCache()
  cache.setNode(stored(nodeOf('n1')))
  cache.assume(podInfoOf(pod('other', present)), 'n1')
  const snapshot = cache.snapshot()
  const said = plugin.preFilter!(podInfoOf(pod('new', wanted)), snapshot)
  const status = said === undefined || 'reason' in said ? said : said.filter(snapshot.get('n1')!)
  assert.equal(status?.reason, expected, `${wanted} beside ${present}`)
}

test('VolumeRestrictions: a disk is used by one pod of a node, unless all are read-only', () => {
  const taken = 'node(s) had no available disk'
  check('gce:a', 'gce:a', taken)
  check('gce:a', 'gce:b', undefined)
  check('gce:a!', 'gce:a', taken)
  check('gce:a!', 'gce:a!', undefined)
  check('ebs:a', 'ebs:a', taken)
  check('ebs:a!', 'ebs:a!', taken)
  check('ebs:a', 'gce:a', undefined)
  check('iscsi:a', 'iscsi:a', taken)
  check('iscsi:a!', 'iscsi:a!', undefined)
  check('rbd:a@m1+m2', 'rbd:a@m2+m3', taken)
  check('rbd:a@m1', 'rbd:a@m2', undefined)
  check('rbd:a@m1!', 'rbd:a@m1!', undefined)
  check('rbd:a', 'rbd:b', undefined)
  check('none:', 'gce:a', undefined)
})

test('VolumeRestrictions: a pod with a missing claim is rejected', () => {
  check('claim:gone', 'none:', 'persistentvolumeclaim "gone" not found')
})

const inUse =
  'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod'

test('VolumeRestrictions: a ReadWriteOncePod claim is used by one pod, which can be preempted', async () => {
  await world.create(pods, podOf('user', { volumes: [parseVolume('claim:own')], nodeName: 'n1' }))
  const cache = new SchedulerCache()
  cache.setNode(stored(nodeOf('n1')))
  cache.setNode(stored(nodeOf('n2')))
  const user = podInfoOf(pod('user', 'claim:own'))
  cache.assume(user, 'n1')
  const snapshot = cache.snapshot()
  const [n1, n2] = [snapshot.get('n1')!, snapshot.get('n2')!]
  assert.equal(plugin.preFilter!(podInfoOf(pod('new', 'claim:shared')), snapshot), undefined)
  const state = plugin.preFilter!(podInfoOf(pod('new', 'claim:own')), snapshot) as FilterState
  assert.equal(state.filter(n1)?.reason, inUse)
  assert.equal(state.filter(n2)?.reason, inUse)
  assert.equal(state.filter(n2)?.isUnresolvable, undefined)
  const without = state.removePod!(user, n1)
  assert.equal(without.filter(n2), undefined)
  assert.equal(without.addPod!(user, n2).filter(n1)?.reason, inUse)
})

test('VolumeRestrictions: deleted pods with conflicting volumes requeue a pod', () => {
  const helps = (waiting: string, gone: string): boolean => {
    return plugin.eventsToRegister!.some(({ resource, on, queueingHint }) => {
      const isMeant = resource.plural === 'pods' && on.includes('delete')
      return isMeant && queueingHint!(pod('new', waiting), { before: pod('old', gone) })
    })
  }
  assert.equal(helps('gce:a', 'gce:a'), true)
  assert.equal(helps('gce:a', 'gce:b'), false)
  assert.equal(helps('claim:own', 'claim:own'), true)
  assert.equal(helps('claim:own', 'claim:shared'), false)
})
