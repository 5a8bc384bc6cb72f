import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  hostsFilePath,
  podCgroup,
  podCgroupOf,
  podFolder,
  podLogFolder,
  terminationMessagePath,
} from './pod-paths.ts'
import { kubeletPod } from './testdata/objects.ts'

const node = { rootDirectory: '/node', cgroupRoot: '/k8ts-0' }

test('paths of a pod are below the kubelet root directory', () => {
  assert.equal(podFolder(node, 'u-1'), '/node/pods/u-1')
  assert.equal(hostsFilePath(node, 'u-1'), '/node/pods/u-1/etc-hosts')
  assert.equal(
    terminationMessagePath(node, { uid: 'u-1', container: 'c', attempt: 2 }),
    '/node/pods/u-1/containers/c/2',
  )
  const metadata = { name: 'web', namespace: 'shop', uid: 'u-1' }
  assert.equal(podLogFolder({ podLogsDir: '/logs' }, { metadata }), '/logs/shop_web_u-1')
})

test('the cgroup of a pod is below that of its QoS class', () => {
  const pod = (qosClass: string): string => podCgroup(node, kubeletPod({ status: { qosClass } }))
  assert.equal(pod('Guaranteed'), '/k8ts-0/kubepods/podu-1')
  assert.equal(pod('Burstable'), '/k8ts-0/kubepods/burstable/podu-1')
  assert.equal(pod('BestEffort'), '/k8ts-0/kubepods/besteffort/podu-1')
  assert.equal(podCgroupOf({ cgroupRoot: '/' }, 'Guaranteed', 'u-1'), '/kubepods/podu-1')
})

test('a pod UID with path separators is rejected', () => {
  for (const uid of ['', '.', '..', '../x', 'a/b', '/']) {
    assert.throws(() => podFolder(node, uid), { name: 'AssertionError' }, uid)
    assert.throws(() => podCgroupOf(node, 'Burstable', uid), { name: 'AssertionError' }, uid)
  }
})
