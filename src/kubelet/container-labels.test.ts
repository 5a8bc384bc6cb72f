import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  containerAnnotations,
  containerHash,
  containerLabels,
  containerOfAnnotations,
  podOfLabels,
  sandboxLabels,
} from './container-labels.ts'

const pod = {
  metadata: {
    name: 'web',
    namespace: 'shop',
    uid: 'u-1',
    labels: { 'io.kubernetes.pod.uid': 'forged', 'app': 'web' },
  },
}

test('kubelet labels win over pod labels of the same name', () => {
  assert.deepEqual(podOfLabels(sandboxLabels(pod)), { name: 'web', namespace: 'shop', uid: 'u-1' })
  const own = containerLabels(pod, { name: 'c' })
  assert.deepEqual(podOfLabels(own), { name: 'web', namespace: 'shop', uid: 'u-1', container: 'c' })
  assert.equal('app' in own, false)
  assert.equal(podOfLabels({}), undefined)
  assert.equal(podOfLabels({ 'io.kubernetes.pod.name': 'web' }), undefined)
})

test("container labels and annotations have Kubernetes' names", () => {
  const names = [
    'io.kubernetes.container.hash',
    'io.kubernetes.container.restartCount',
    'io.kubernetes.container.terminationMessagePath',
    'io.kubernetes.container.terminationMessagePolicy',
    'io.kubernetes.pod.terminationGracePeriod',
    'io.kubernetes.container.preStopHandler',
    'io.kubernetes.container.ports',
  ]
  const container = { name: 'c', lifecycle: { preStop: {} }, ports: [{ containerPort: 80 }] }
  const spec = { containers: [container], terminationGracePeriodSeconds: 30 }
  assert.deepEqual(Object.keys(containerAnnotations({ ...pod, spec }, container, 1)), names)
})

test('invalid container annotations are ignored', () => {
  const damaged = {
    'io.kubernetes.container.restartCount': 'many',
    'io.kubernetes.pod.deletionGracePeriod': '1e9',
    'io.kubernetes.container.preStopHandler': '{"exec":',
  }
  const nothing = { hash: '', restartCount: 0, terminationMessagePath: '', terminationMessagePolicy: '' }
  assert.deepEqual(containerOfAnnotations(damaged), nothing)
  assert.deepEqual(containerOfAnnotations({ 'io.kubernetes.container.preStopHandler': '7' }), nothing)
  const read = containerOfAnnotations({ 'io.kubernetes.pod.deletionGracePeriod': '5' })
  assert.equal(read.deletionGraceSeconds, 5)
})

test('the hash of a container differs with its name and image only', () => {
  const hash = containerHash({ name: 'c', image: 'a' })
  assert.equal(containerHash({ name: 'c', image: 'a', env: [{ name: 'x' }] }), hash)
  assert.notEqual(containerHash({ name: 'c', image: 'b' }), hash)
  assert.notEqual(containerHash({ name: 'd', image: 'a' }), hash)
  assert.match(hash, /^[0-9a-f]{16}$/)
})
