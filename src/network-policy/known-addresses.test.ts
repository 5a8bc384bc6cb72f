import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { KnownAddresses } from './known-addresses.ts'

function pod(uid: string, addresses: readonly string[] = [], name = 'web'): Pod {
  return {
    metadata: { namespace: 'x', name, uid },
    spec: { nodeName: 'n1', containers: [] },
    status: { podIPs: addresses.map(ip => ({ ip })) },
  }
}

const key = 'x/web'

test('a pod that the watch has not shown is that of the kubelet', () => {
  const known = new KnownAddresses()
  assert.equal(known.complete(key, undefined), undefined)
  known.add(pod('1'), ['10.244.0.5'])
  assert.deepEqual(known.complete(key, undefined), { pod: pod('1'), addresses: ['10.244.0.5'] })
  // The watch still shows the previous pod of this name.
  assert.deepEqual(known.complete(key, pod('0', ['10.244.0.4']))?.pod, pod('1'))
})

test('addresses complete the status until it has them', () => {
  const known = new KnownAddresses()
  known.add(pod('1'), ['10.244.0.5'])
  assert.deepEqual(known.complete(key, pod('1'))?.addresses, ['10.244.0.5'])
  assert.deepEqual(known.complete(key, pod('1', ['10.244.0.5']))?.addresses, [])
  assert.deepEqual(known.keys(), [])
})

test('the mirror pod of a static pod has another uid', () => {
  const known = new KnownAddresses()
  known.add(pod('file'), ['10.244.0.5'])
  const { metadata, ...rest } = pod('api')
  const mirror = {
    ...rest,
    metadata: { ...metadata, annotations: { 'kubernetes.io/config.mirror': 'file' } },
  }
  assert.deepEqual(known.complete(key, mirror), { pod: mirror, addresses: ['10.244.0.5'] })
  known.forget(mirror)
  assert.deepEqual(known.keys(), [])
})

test('a deleted pod is forgotten, but not a newer one of its name', () => {
  const known = new KnownAddresses()
  known.add(pod('2'), ['10.244.0.5'])
  known.forget(pod('1'))
  assert.deepEqual(known.keys(), [key])
  known.forget(pod('2'))
  assert.deepEqual(known.keys(), [])
})

test('an address has one pod, and the number of pods is bounded', () => {
  const known = new KnownAddresses()
  known.add(pod('1'), ['10.244.0.5'])
  assert.deepEqual(known.add(pod('2', [], 'db'), ['10.244.0.5']), [key])
  assert.deepEqual(known.keys(), ['x/db'])
  for (let number = 0; number < 999; number++) known.add(pod('u', [], `p${number}`), [`10.1.0.${number}`])
  assert.deepEqual(known.add(pod('u', [], 'last'), ['10.2.0.1']), ['x/db'])
})
