import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodStatus } from '#/api/generated/core/v1.ts'
import { isUrgent, statusPatch } from './status-patch.ts'

const ready = { type: 'Ready', status: 'True', lastTransitionTime: 't' }

test('statusPatch: equal fields are not sent', () => {
  const status: PodStatus = { phase: 'Running', podIPs: [{ ip: 'a' }], conditions: [ready] }
  assert.equal(statusPatch(status, structuredClone(status)), undefined)
  assert.equal(statusPatch({}, {}), undefined)
})

test('statusPatch: changed, added and removed fields are sent', () => {
  const before = { phase: 'Pending', reason: 'r', hostIP: 'h', containerStatuses: [] }
  const container = { name: 'a', image: '', imageID: '', ready: true, restartCount: 0 }
  const after = { phase: 'Running', hostIP: 'h', podIP: 'p', containerStatuses: [container] }
  const patch = { phase: 'Running', reason: null, podIP: 'p', containerStatuses: [container] }
  assert.deepEqual(statusPatch(before, after), patch)
})

test('statusPatch: the list of addresses is replaced as a whole', () => {
  const patch = statusPatch({ podIPs: [{ ip: 'a' }] }, { podIPs: [{ ip: 'b' }] })
  assert.deepEqual(patch, { podIPs: [{ $patch: 'replace' }, { ip: 'b' }] })
})

test('statusPatch: removed resources are deleted', () => {
  const before = { resources: { requests: { cpu: '1', memory: '1' } }, allocatedResources: { cpu: '1' } }
  const after = { resources: { requests: { cpu: '2' } } }
  assert.deepEqual(statusPatch(before, after), {
    resources: { requests: { cpu: '2', memory: null } },
    allocatedResources: null,
  })
})

test('statusPatch: DisruptionTarget is sent only if the kubelet has set it', () => {
  const own = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }
  const foreign = { ...own, reason: 'EvictionByEvictionAPI' }
  assert.deepEqual(statusPatch({ conditions: [foreign] }, { conditions: [own] }), { conditions: [own] })
  assert.equal(statusPatch({ conditions: [foreign] }, { conditions: [] }), undefined)
  assert.equal(statusPatch({}, { conditions: [foreign] }), undefined)
})

test('statusPatch: conditions of other writers are kept', () => {
  const foreign = { type: 'example.com/gate', status: 'True' }
  assert.equal(statusPatch({ conditions: [foreign, ready] }, { conditions: [ready] }), undefined)
  assert.equal(statusPatch({ conditions: [ready] }, { conditions: [foreign, ready] }), undefined)
})

test('statusPatch: an outdated reason of a condition is removed', () => {
  const unready = { type: 'Ready', status: 'False', reason: 'ContainersNotReady', message: 'm' }
  assert.deepEqual(statusPatch({ conditions: [unready] }, { conditions: [ready] }), {
    conditions: [{ ...ready, reason: null, message: null }],
  })
  assert.deepEqual(statusPatch({ conditions: [{ type: 'AllContainersRestarting', status: 'False' }] }, {}), {
    conditions: [{ type: 'AllContainersRestarting', $patch: 'delete' }],
  })
})

test('isUrgent: changes of phase and readiness only', () => {
  const cases: readonly (readonly [PodStatus, PodStatus, boolean])[] = [
    [{}, { phase: 'Pending' }, false],
    [{ phase: 'Pending' }, { phase: 'Pending', containerStatuses: [] }, false],
    [{ phase: 'Pending' }, { phase: 'Running' }, true],
    [{ phase: 'Running' }, { phase: 'Running', conditions: [ready] }, true],
    [
      { phase: 'Running', conditions: [ready] },
      { phase: 'Running', conditions: [{ ...ready, status: 'False' }] },
      true,
    ],
    [{ phase: 'Running', conditions: [ready] }, { phase: 'Running', conditions: [ready], podIP: 'p' }, false],
  ]
  for (const [before, after, expected] of cases)
    assert.equal(isUrgent(before, after), expected, JSON.stringify(after))
})
