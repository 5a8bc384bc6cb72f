import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { revisionAnnotation } from './revisions.ts'
import { planRollback } from './rollback.ts'
import { stored } from '../test-stored.ts'

const request = 'deprecated.deployment.rollback.to'

function templateOf(image: string, labels = {}): PodTemplateSpec {
  return { metadata: { labels: { app: 'web', ...labels } }, spec: { containers: [{ name: 'web', image }] } }
}

function setOf(image: string, revision: string): Stored<ReplicaSet> {
  return stored({
    metadata: { name: image, annotations: { [revisionAnnotation]: revision, cause: `made ${image}` } },
    spec: { selector: {}, template: templateOf(image, { 'pod-template-hash': image }) },
  })
}

function deploymentOf(image: string, to: string, spec: Partial<Deployment['spec']> = {}): Deployment {
  const annotations = { [request]: to, [revisionAnnotation]: '3', cause: `made ${image}` }
  return {
    metadata: { name: 'web', annotations },
    spec: { selector: {}, template: templateOf(image), ...spec },
  }
}

test('a rollback restores the requested or the previous revision', () => {
  const sets = [setOf('a', '1'), setOf('b', '2'), setOf('c', '3')]
  const check = (to: string, image: string, event: string, from = 'c'): void => {
    const plan = planRollback(deploymentOf(from, to), sets)
    assert.equal(plan?.deployment.spec?.template.spec?.containers[0]?.image, image)
    assert.deepEqual(plan?.deployment.spec?.template, templateOf(image))
    assert.deepEqual(plan?.deployment.metadata.annotations, {
      [revisionAnnotation]: '3',
      cause: `made ${image}`,
    })
    assert.equal(`${plan?.event.type} ${plan?.event.reason}: ${plan?.event.message}`, event)
  }
  check('0', 'b', 'Normal DeploymentRollback: Rolled back deployment "web" to revision 2')
  check('1', 'a', 'Normal DeploymentRollback: Rolled back deployment "web" to revision 1')
  check(
    '3',
    'c',
    'Warning DeploymentRollbackTemplateUnchanged: ' +
      'The rollback revision contains the same template as current deployment "web"',
  )
  check('9', 'c', 'Warning DeploymentRollbackRevisionNotFound: Unable to find the revision to rollback to.')
})

test('a rollback without a target is dropped with an event', () => {
  const plan = planRollback(deploymentOf('a', '0'), [setOf('a', '1')])
  assert.equal(plan?.event.message, 'Unable to find last revision.')
  assert.equal(plan?.deployment.metadata.annotations?.[request], undefined)
})

test('no rollback while paused, before the new revision is numbered, or without a number', () => {
  const sets = [setOf('a', '1'), setOf('b', '2')]
  assert.equal(planRollback(deploymentOf('b', '1', { paused: true }), sets), undefined)
  assert.equal(planRollback(deploymentOf('c', '1'), sets), undefined)
  assert.equal(planRollback(deploymentOf('a', '2'), sets), undefined)
  assert.equal(planRollback(deploymentOf('b', 'x'), sets), undefined)
  assert.equal(planRollback(deploymentOf('b', ''), sets), undefined)
})
