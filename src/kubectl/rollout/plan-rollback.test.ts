import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#/api/text/json-object.ts'
import { findRevision, planRollback } from './plan-rollback.ts'
import type { Revision } from './revision.ts'

function deployment(image: string, spec: JsonObject = {}): JsonObject {
  const annotations = { 'deployment.kubernetes.io/revision': '2', 'team': 'blue' }
  return {
    kind: 'Deployment',
    metadata: { name: 'web', annotations },
    spec: { template: template(image), ...spec },
  }
}

function template(image: string, hash?: string): JsonObject {
  const labels = { app: 'web', ...(hash && { 'pod-template-hash': hash }) }
  return { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } }
}

function replicaSet(number: number, image: string): Revision {
  const annotations = { 'deployment.kubernetes.io/revision': String(number), 'cause': 'upgrade' }
  const object = { kind: 'ReplicaSet', metadata: { annotations }, spec: { template: template(image, 'abc') } }
  return { number, changeCause: '', template: template(image, 'abc'), object }
}

test('the previous revision is the one before the last, and others are found by number', () => {
  const revisions = [2, 3, 7].map(number => replicaSet(number, `nginx:${number}`))
  const check = (toRevision: number, number: number) =>
    assert.equal(findRevision({ object: deployment('x'), revisions, toRevision }).number, number)
  check(0, 3)
  check(7, 7)
  check(2, 2)
  const fails = (toRevision: number, given: readonly Revision[], kind: string, message: RegExp) =>
    assert.throws(
      () => findRevision({ object: { ...deployment('x'), kind }, revisions: given, toRevision }),
      message,
    )
  fails(5, revisions, 'Deployment', /unable to find specified revision 5 in history/)
  fails(-1, revisions, 'Deployment', /unable to find specified revision -1 in history/)
  fails(0, revisions.slice(0, 1), 'Deployment', /no rollout history found for deployment "web"/)
  fails(0, [], 'DaemonSet', /no last revision to roll back to/)
})

test('a deployment gets the template and annotations of a replica set', () => {
  const plan = planRollback(deployment('nginx:2'), replicaSet(1, 'nginx:1'))
  assert.deepEqual(plan, {
    type: 'json',
    patch: [
      { op: 'replace', path: '/spec/template', value: template('nginx:1') },
      {
        op: 'replace',
        path: '/metadata/annotations',
        value: { 'deployment.kubernetes.io/revision': '2', 'cause': 'upgrade' },
      },
    ],
  })
})

test('a deployment is not changed if it has the template already or is paused', () => {
  assert.equal(planRollback(deployment('nginx:1'), replicaSet(1, 'nginx:1')), undefined)
  assert.throws(
    () => planRollback(deployment('nginx:2', { paused: true }), replicaSet(1, 'nginx:1')),
    /cannot rollback a paused deployment/,
  )
})

test('a set gets the stored patch', () => {
  const patch = { spec: { template: { ...template('agent:1'), $patch: 'replace' } } }
  const revision: Revision = { number: 1, changeCause: '', template: template('agent:1'), object: {}, patch }
  const set = (image: string) => ({ kind: 'DaemonSet', metadata: {}, spec: { template: template(image) } })
  assert.deepEqual(planRollback(set('agent:2'), revision), { type: 'strategic', patch })
  assert.equal(planRollback(set('agent:1'), revision), undefined)
})
