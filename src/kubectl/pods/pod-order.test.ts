import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { compareForAttach, compareForLogs } from './pod-order.ts'

interface Shape {
  readonly node?: string
  readonly phase?: string
  /** Second since which it is ready. */
  readonly ready?: number
  readonly restarts?: number
  readonly sidecarRestarts?: number
  readonly created?: number
  readonly deleted?: number
}

function time(second: number): string {
  return new Date(second * 1_000).toISOString()
}

const sidecar = { name: 's', image: 'i', restartPolicy: 'Always' }

function podOf(name: string, shape: Shape): Pod {
  const { node = 'n', phase = 'Running', ready, restarts = 0, sidecarRestarts = 0, created, deleted } = shape
  const status = (each: string, restartCount: number) => {
    return { name: each, restartCount, image: '', imageID: '', ready: true }
  }
  return {
    metadata: {
      name,
      ...(created !== undefined && { creationTimestamp: time(created) }),
      ...(deleted !== undefined && { deletionTimestamp: time(deleted) }),
    },
    spec: { nodeName: node, containers: [], initContainers: [sidecar] },
    status: {
      phase,
      containerStatuses: [status('c', restarts)],
      initContainerStatuses: [status('s', sidecarRestarts)],
      ...(ready !== undefined && {
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: time(ready) }],
      }),
    },
  }
}

/** `first` must come before `second`, whatever their order is at the beginning. */
function check(compare: typeof compareForLogs, first: Shape, second: Shape): void {
  const pods = [podOf('first', first), podOf('second', second)]
  for (const given of [pods, pods.toReversed()]) {
    assert.deepEqual(
      given.toSorted(compare).map(({ metadata }) => metadata.name),
      ['first', 'second'],
      JSON.stringify({ first, second }),
    )
  }
}

test('the logs of an assigned, running, ready, often restarted, old pod come first', () => {
  check(compareForLogs, { phase: 'Pending' }, { node: '' })
  check(compareForLogs, { phase: 'Running' }, { phase: 'Unknown' })
  check(compareForLogs, { phase: 'Unknown' }, { phase: 'Pending' })
  check(compareForLogs, { phase: 'Failed' }, { phase: 'Pending' })
  check(compareForLogs, { ready: 1 }, { restarts: 5 })
  check(compareForLogs, { ready: 1 }, { ready: 2 })
  check(compareForLogs, { restarts: 5 }, { restarts: 1 })
  check(compareForLogs, { sidecarRestarts: 2 }, { sidecarRestarts: 1 })
  check(compareForLogs, { created: 1 }, { created: 2 })
  check(compareForLogs, { created: 1 }, {})
})

test('a session is opened to an assigned, running, ready pod that is not deleted and was not restarted', () => {
  check(compareForAttach, {}, { node: '' })
  check(compareForAttach, { phase: 'Pending' }, { phase: 'Pending', node: '' })
  check(compareForAttach, { phase: 'Running' }, { phase: 'Failed' })
  check(compareForAttach, { phase: 'Unknown' }, { phase: 'Succeeded' })
  check(compareForAttach, { ready: 9, deleted: 1 }, {})
  check(compareForAttach, {}, { deleted: 1 })
  check(compareForAttach, { deleted: 2 }, { deleted: 1 })
  check(compareForAttach, { ready: 1 }, { ready: 2 })
  check(compareForAttach, { restarts: 1 }, { restarts: 2 })
  check(compareForAttach, { created: 1 }, { created: 2 })
})
