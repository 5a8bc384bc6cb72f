import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ControllerRevision } from '#/api/generated/apps/v1.ts'
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { revisionData, templateOfRevision } from './revision-data.ts'
import { oldestFirst, planRevision } from './revision-history.ts'
import { stored } from '../test-stored.ts'

function templateOf(image: string): PodTemplateSpec {
  return { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image }] } }
}

function revisionOf(revision: number, image: string): Stored<ControllerRevision> {
  return stored({ metadata: { name: `web-${image}` }, revision, data: revisionData(templateOf(image)) })
}

/** `1a 2b`: revision numbers and images, oldest first. */
function check(history: string, image: string, expected: string): void {
  const revisions = history.split(' ').flatMap(text => {
    return text === '' ? [] : [revisionOf(Number(text.slice(0, -1)), text.slice(-1))]
  })
  const plan = planRevision(revisions, templateOf(image))
  const number = 'number' in plan ? ` ${plan.number}` : ''
  const name = 'revision' in plan ? ` ${plan.revision.metadata.name}` : ''
  assert.equal(`${plan.do}${name}${number}`, expected)
}

test('each template has one revision; a rollback reuses the existing revision', () => {
  check('', 'a', 'create 1')
  check('1a', 'a', 'nothing web-a')
  check('1a', 'b', 'create 2')
  check('1a 2b', 'a', 'renumber web-a 3')
  check('1a 2a', 'a', 'nothing web-a')
  check('2b 7c', 'a', 'create 8')
})

test('revision numbers beyond 2^53 are handled', () => {
  const large = { ...revisionOf(0, 'a'), revision: 2n ** 53n }
  assert.deepEqual(planRevision([large], templateOf('b')), { do: 'create', number: 2n ** 53n + 1n })
  assert.deepEqual(
    oldestFirst([large, revisionOf(3, 'b'), revisionOf(2, 'c')]).map(each => each.revision),
    [2, 3, 2n ** 53n],
  )
})

test('a ControllerRevision without a template matches no set', () => {
  for (const data of [
    undefined,
    {},
    { spec: 1 },
    { spec: { template: null } },
    { spec: { template: 'x' } },
  ]) {
    const revision = stored({
      metadata: {},
      revision: 1,
      ...(data && { data: data }),
    })
    assert.equal(templateOfRevision(revision), undefined)
    assert.deepEqual(planRevision([revision], {}), { do: 'create', number: 2 })
  }
})
