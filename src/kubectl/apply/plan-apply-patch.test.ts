import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#/api/text/json-object.ts'
import { kindSchemaOf } from '../resource/kind-schema.ts'
import { lastAppliedAnnotation, withLastApplied } from '../resource/last-applied.ts'
import { planApplyPatch, type ApplyPatch } from './plan-apply-patch.ts'

const deploymentKind = { group: 'apps', version: 'v1', kind: 'Deployment' }

interface Versions {
  readonly original?: JsonObject
  readonly modified: JsonObject
  /** What others have added to the live object. */
  readonly added?: JsonObject
  readonly overwrite?: boolean
  readonly isCustom?: boolean
}

async function planOf({
  original,
  modified,
  added = {},
  overwrite = true,
  isCustom = false,
}: Versions): Promise<ApplyPatch> {
  const object = (spec: JsonObject): JsonObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec,
  })
  const applied = original === undefined ? object({}) : withLastApplied(object(original))
  const live: JsonObject = { ...applied, spec: { ...original, ...added } }
  return planApplyPatch({
    modified: withLastApplied(object(modified)),
    current: live,
    schema: isCustom ? undefined : await kindSchemaOf(deploymentKind),
    overwrite,
  })
}

/** The spec of the patch; the annotation is part of each patch that changes something. */
async function check(versions: Versions, expected: JsonObject | undefined): Promise<void> {
  const { patch, type } = await planOf(versions)
  assert.equal(type, versions.isCustom ? 'merge' : 'strategic')
  assert.deepEqual(patch['spec'], expected)
}

test('nothing changes when the same configuration is applied again', async () => {
  const { patch } = await planOf({
    original: { replicas: 2 },
    modified: { replicas: 2 },
    added: { paused: true },
  })
  assert.deepEqual(patch, {})
})

test('changed fields are set, removed ones are deleted, and those of others are kept', async () => {
  const containers = [{ name: 'main', image: 'a' }]
  const template = (list: readonly JsonObject[]): JsonObject => ({
    template: { spec: { containers: [...list] } },
  })
  await check(
    { original: { replicas: 2 }, modified: { replicas: 3 }, added: { paused: true } },
    { replicas: 3 },
  )
  await check({ original: { replicas: 2 }, modified: {} }, { replicas: null })
  await check(
    { original: { replicas: 2 }, modified: { replicas: 2 }, added: { replicas: 5 } },
    { replicas: 2 },
  )
  await check(
    {
      original: template(containers),
      modified: template(containers),
      added: template([...containers, { name: 'injected', image: 'b' }]),
    },
    undefined,
  )
  await check(
    {
      original: template(containers),
      modified: template(containers),
      added: template([{ name: 'main', image: 'z' }]),
    },
    {
      template: {
        spec: {
          'containers': [{ image: 'a', name: 'main' }],
          '$setElementOrder/containers': [{ name: 'main' }],
        },
      },
    },
  )
})

test('lists of custom resources are replaced', async () => {
  const isCustom = true
  await check({ original: { list: [1] }, modified: { list: [1, 2] }, isCustom }, { list: [1, 2] })
  await check({ original: { list: [1] }, modified: {}, isCustom }, { list: null })
})

test('an object without the annotation keeps the fields that it has', async () => {
  const { patch } = await planOf({ modified: { replicas: 1 }, added: { replicas: 1, paused: true } })
  assert.deepEqual(Object.keys(patch), ['metadata'])
})

test('without overwrite, changes of others are an error', async () => {
  const changed = { original: { replicas: 2 }, modified: { replicas: 3 }, added: { replicas: 5 } }
  await assert.rejects(
    planOf({ ...changed, overwrite: false }),
    /changed since they were applied last: spec\.replicas\n/,
  )
})

test('an annotation that is no JSON object is an error', () => {
  const current = { metadata: { annotations: { [lastAppliedAnnotation]: '[1' } } }
  const plan = (): ApplyPatch => planApplyPatch({ modified: {}, current, schema: undefined, overwrite: true })
  assert.throws(plan, /last applied configuration is not a JSON object/)
})
