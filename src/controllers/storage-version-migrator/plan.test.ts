import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StorageVersionMigration } from '#/api/generated/storagemigration/v1beta1.ts'
import { planMigrationStep, type MigrationStep } from './plan.ts'

/** `NAME@SECOND`, then conditions that are true, and `rv` for a recorded resourceVersion. */
function migration(text: string): StorageVersionMigration {
  const [id = '', ...words] = text.split(' ')
  const [name = '', second = ''] = id.split('@')
  const states = words.filter(word => word !== 'rv')
  return {
    metadata: { name, creationTimestamp: `2026-01-01T00:00:0${second}Z` },
    spec: { resource: { resource: 'servers', group: 'example.com' } },
    status: {
      conditions: states.map(type => {
        return { type, status: 'True', reason: type, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
      }),
      ...(words.includes('rv') && { resourceVersion: '7' }),
    },
  }
}

test('one migration of a resource runs at a time, the oldest first', () => {
  const check = (own: string, others: string, expected: MigrationStep): void => {
    const all = [own, ...others.split(', ').filter(Boolean)].map(migration)
    assert.equal(planMigrationStep(all[0]!, all), expected, `${own} | ${others}`)
  }
  check('a@1', '', 'activate')
  check('a@1', 'b@2', 'activate')
  check('b@2', 'a@1', 'nothing')
  check('b@1', 'a@1', 'nothing')
  check('a@1', 'b@2 Running', 'nothing')
  check('b@2', 'a@1 Running Succeeded rv', 'nothing')
  check('b@2', 'a@1 Succeeded rv', 'activate')
  check('b@2', 'a@1 Failed', 'activate')
  check('a@1 Running', 'b@2', 'checkpoint')
  check('a@1 Running rv', '', 'migrate')
  check('a@1 Running Succeeded rv', '', 'finish')
  check('a@1 Running Failed', '', 'finish')
  check('a@1 Succeeded rv', '', 'nothing')
})
