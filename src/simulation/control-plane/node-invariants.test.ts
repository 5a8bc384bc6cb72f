import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { checkPodStatusOrder } from './node-invariants.ts'

test('a restart count that falls and a terminal phase that changes are violations', () => {
  check('Running 1', 'Running 2', [])
  check('Running 2', 'Running 1', ['restart count of main of pod default/p falls from 2 to 1'])
  check('Running 2', 'Pending', [])
  check('Failed 2', 'Running 2', ['pod default/p goes from Failed to Running'])
  check('Succeeded', 'Failed', ['pod default/p goes from Succeeded to Failed'])
  check('Failed', 'Failed', [])
})

test('a new pod of the same name begins again', () => {
  const changed = { before: podOf('Failed 2'), after: podOf('Pending', 'other'), nowMs: 0 }
  assert.deepEqual(checkPodStatusOrder({ resourcePrefix: 'pods', ...changed }), [])
})

function check(before: string, after: string, expected: readonly string[]): void {
  const changed = { before: podOf(before), after: podOf(after), nowMs: 0 }
  assert.deepEqual(checkPodStatusOrder({ resourcePrefix: 'pods', ...changed }), expected)
}

/** `PHASE`, or `PHASE RESTARTS`. */
function podOf(text: string, uid = 'uid'): Stored<Pod> {
  const [phase = '', restarts] = text.split(' ')
  const container = { name: 'main', image: 'i', imageID: '', ready: true, restartCount: Number(restarts) }
  return {
    metadata: { namespace: 'default', name: 'p', uid, resourceVersion: '1' },
    status: { phase, ...(restarts !== undefined && { containerStatuses: [container] }) },
  } as Stored<Pod>
}
