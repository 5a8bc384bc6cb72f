import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { planReplicas } from './plan.ts'
import { stored } from '../test-stored.ts'

function podsOf(count: number): readonly Stored<Pod>[] {
  return Array.from({ length: count }, (_, index) => stored({ metadata: { uid: String(index) } }))
}

test('planReplicas creates missing or deletes excess pods, up to burstReplicas', () => {
  const check = (replicas: number | undefined, existing: number, create: number, removed: number): void => {
    const pods = podsOf(existing)
    const spec = { ...(replicas !== undefined && { replicas }), selector: {} }
    const plan = planReplicas({ set: { metadata: {}, spec }, pods, related: () => pods, nowMs: 0 })
    assert.deepEqual([plan.create, plan.delete.length], [create, removed], `${replicas} of ${existing}`)
  }
  check(3, 0, 3, 0)
  check(3, 3, 0, 0)
  check(3, 5, 0, 2)
  check(0, 2, 0, 2)
  check(undefined, 0, 1, 0)
  check(2_000, 1, 500, 0)
  check(0, 2_000, 0, 500)
})

test('related pods are evaluated only when scaling down', () => {
  const related = (): never => assert.fail('no pod is to be deleted')
  planReplicas({
    set: { metadata: {}, spec: { replicas: 3, selector: {} } },
    pods: podsOf(3),
    related,
    nowMs: 0,
  })
})
