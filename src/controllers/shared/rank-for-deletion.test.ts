import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { rankForDeletion } from './rank-for-deletion.ts'
import { stored } from '../test-stored.ts'

const nowMs = Date.UTC(2026, 0, 1)

interface PodOptions {
  readonly node?: string
  readonly phase?: string
  /** Seconds since the pod became ready; undefined if not ready. */
  readonly ready?: number
  readonly cost?: string
  readonly restarts?: number
  readonly sidecarRestarts?: number
  readonly age?: number
}

function podOf(uid: string, options: PodOptions): Stored<Pod> {
  const { node = 'n', phase = 'Running', ready, cost, restarts = 0, sidecarRestarts = 0, age = 60 } = options
  const annotations: Record<string, string> = {}
  if (cost !== undefined) annotations['controller.kubernetes.io/pod-deletion-cost'] = cost
  const ago = (seconds: number): string => formatTime(nowMs - seconds * 1_000)
  return stored({
    metadata: { uid, annotations, creationTimestamp: ago(age) },
    spec: {
      containers: [],
      ...(node && { nodeName: node }),
      initContainers: [
        { name: 'sidecar', restartPolicy: 'Always' },
        { name: 'once', image: 'x' },
      ],
    },
    status: {
      phase,
      conditions:
        ready === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: ago(ready) }],
      containerStatuses: [{ name: 'c', restartCount: restarts, image: '', imageID: '', ready: true }],
      initContainerStatuses: [
        { name: 'sidecar', restartCount: sidecarRestarts, image: '', imageID: '', ready: true },
        { name: 'once', restartCount: 99 - sidecarRestarts, image: '', imageID: '', ready: true },
      ],
    },
  })
}

/** Checks that the first pod is ranked before the second, whatever their uids. */
function check(first: PodOptions, second: PodOptions, related: readonly PodOptions[] = []): void {
  for (const [left, right] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    const pods = [podOf(right, second), podOf(left, first)]
    const ranked = rankForDeletion(pods, {
      related: [...pods, ...related.map((options, index) => podOf(`r${index}`, options))],
      nowMs,
    })
    assert.equal(ranked[0]?.metadata.uid, left, JSON.stringify([first, second]))
  }
}

test('pods are ranked for deletion by assignment, phase, readiness, cost, spread and age', () => {
  const ready = { ready: 30 }
  check({ node: '' }, {})
  check({ node: '', ready: 30, cost: '5' }, { phase: 'Pending' })
  check({ phase: 'Pending', ...ready }, { phase: 'Unknown' })
  check({ phase: 'Unknown', ...ready }, { phase: 'Running' })
  check({ cost: '9' }, { ...ready, cost: '-9' })
  check({ ...ready, cost: '-10' }, { ready: 1 })
  check({ ready: 500, cost: '1' }, { ready: 1, cost: '2' })
  check({ node: 'busy', ready: 500 }, { node: 'calm', ready: 1 }, [{ node: 'busy' }])
  check({ ready: 1 }, { ready: 1_000 })
  check({ ready: 30, restarts: 3 }, { ready: 30, restarts: 2 })
  check({ ready: 30, sidecarRestarts: 3 }, { ready: 30, sidecarRestarts: 2 })
  check({ ready: 30, restarts: 1 }, { ready: 30, sidecarRestarts: 9 })
  check({ ready: 30, age: 40 }, { ready: 30, age: 4_000 })
})

test('an invalid pod deletion cost counts as zero', () => {
  for (const cost of [
    '',
    '+5',
    '007',
    '0x10',
    '1e3',
    '1.5',
    '2147483648',
    'x'.repeat(1_000),
    '9'.repeat(1_000),
  ]) {
    check({ ready: 30, cost: '-1' }, { ready: 30, cost })
    check({ ready: 30, cost }, { ready: 30, cost: '1' })
  }
})

test('pods without timestamps are deleted first', () => {
  const timeless: Stored<Pod> = {
    ...podOf('z', {}),
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  }
  const ranked = rankForDeletion([podOf('a', { ready: 1 }), timeless], { related: [], nowMs })
  assert.equal(ranked[0], timeless)
})

test('ages of the same magnitude are equal, and the ranking does not depend on the input order', () => {
  const ranked = rankForDeletion([podOf('b', { ready: 100 }), podOf('a', { ready: 101 })], {
    related: [],
    nowMs,
  })
  assert.deepEqual(
    ranked.map(pod => pod.metadata.uid),
    ['a', 'b'],
  )
  const seconds = fc.nat(10_000)
  const options = fc.record(
    {
      node: fc.constantFrom('', 'n', 'm'),
      ready: seconds,
      restarts: fc.nat(3),
      age: seconds,
      cost: fc.constantFrom('1', '-1'),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.array(options, { maxLength: 8 }), fc.nat(7), (all, turn) => {
      const pods = all.map((each, index) => podOf(String(index), each))
      const turned = [...pods.slice(turn), ...pods.slice(0, turn)]
      assert.deepEqual(
        rankForDeletion(turned, { related: pods, nowMs }),
        rankForDeletion(pods, { related: pods, nowMs }),
      )
    }),
    { numRuns: 100 },
  )
})
