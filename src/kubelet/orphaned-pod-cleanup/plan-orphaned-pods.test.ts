import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOrphanedPods, type OrphanedPodInput, type OrphanedPod } from './plan-orphaned-pods.ts'

function labels(uid: string): Readonly<Record<string, string>> {
  return {
    'io.kubernetes.pod.name': 'p',
    'io.kubernetes.pod.namespace': 'd',
    'io.kubernetes.pod.uid': uid,
  }
}

function check(leftovers: Partial<OrphanedPodInput>, expected: readonly Partial<OrphanedPod>[]): void {
  const nothing = { sandboxes: [], containers: [], volumeUids: [], cgroupUids: [], logFolders: [] }
  const planned = planOrphanedPods({ known: new Set(['known']), ...nothing, ...leftovers })
  const none = { sandboxes: [], running: [], containers: [], logFolders: [] }
  assert.deepEqual(
    planned,
    expected.map(each => ({ ...none, ...each })),
  )
}

test('planOrphanedPods: known pods and foreign objects are skipped', () => {
  check({}, [])
  check(
    {
      sandboxes: [
        { id: 's', labels: labels('known') },
        { id: 'other', labels: {} },
      ],
      containers: [{ id: 'c', sandboxId: 's', labels: labels('known'), state: 'running' }],
      volumeUids: ['known'],
      cgroupUids: ['known'],
      logFolders: ['d_p_known', 'not-a-pod'],
    },
    [],
  )
})

test('planOrphanedPods: all leftovers of a pod are one orphan', () => {
  check(
    {
      sandboxes: [
        { id: 's1', labels: labels('a') },
        { id: 's0', labels: labels('a') },
      ],
      containers: [
        { id: 'c1', sandboxId: 's1', labels: labels('a'), state: 'running' },
        { id: 'c0', sandboxId: 's0', labels: labels('a'), state: 'exited' },
        { id: 'lost', sandboxId: 'gone', labels: labels('a'), state: 'unknown' },
      ],
      volumeUids: ['a', 'b'],
      cgroupUids: ['c'],
      logFolders: ['d_p_a', 'd_p_d'],
    },
    [
      {
        uid: 'a',
        sandboxes: ['s1', 's0'],
        running: ['c1', 'lost'],
        containers: ['lost'],
        logFolders: ['d_p_a'],
      },
      { uid: 'b' },
      { uid: 'c' },
      { uid: 'd', logFolders: ['d_p_d'] },
    ],
  )
})
