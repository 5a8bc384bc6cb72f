import assert from 'node:assert/strict'
import test from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { planEvictions } from './drain-node.ts'

/** `Kind` of the controller, `mirror` for a static pod, and the phase: `DaemonSet Failed`. */
function pod(text: string): Stored<Pod> {
  const [kind = '', phase = 'Running'] = text.split(' ')
  const owner = { apiVersion: 'apps/v1', kind, name: 'x', uid: 'u', controller: true }
  return {
    metadata: {
      name: text,
      namespace: 'default',
      uid: text,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(kind === 'mirror' && { annotations: { 'kubernetes.io/config.mirror': 'hash' } }),
      ...(kind !== 'mirror' && kind !== '' && { ownerReferences: [owner] }),
    },
    status: { phase },
  }
}

test('a drain evicts all pods but static pods and running pods of DaemonSets', () => {
  const all = ['ReplicaSet', 'DaemonSet', 'DaemonSet Failed', 'mirror', 'Job Succeeded', ' Running']
  assert.deepEqual(
    planEvictions(all.map(pod)).map(({ metadata }) => metadata.name),
    ['ReplicaSet', 'DaemonSet Failed', 'Job Succeeded', ' Running'],
  )
})
