import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planRotation, rotatedName } from './plan-rotation.ts'

test('rotation never leaves more than the maximum number of files', () => {
  const cases: readonly [names: string, maxFiles: number, remove: string, compress: string][] = [
    ['0.log', 5, '', ''],
    ['0.log 0.log.1', 5, '', '0.log.1'],
    ['0.log 0.log.1.gz 0.log.2', 5, '', '0.log.2'],
    ['0.log 0.log.1.gz 0.log.2.gz 0.log.3', 5, '', '0.log.3'],
    ['0.log 0.log.1.gz 0.log.2.gz 0.log.3.gz 0.log.4', 5, '0.log.1.gz', '0.log.4'],
    ['0.log 0.log.1 0.log.2 0.log.3 0.log.4 0.log.5', 4, '0.log.1 0.log.2 0.log.3', '0.log.4 0.log.5'],
    ['0.log 0.log.1', 2, '0.log.1', ''],
    ['0.log 0.log.1.gz', 1, '0.log.1.gz', ''],
    ['0.log 0.log.1 0.log.1.tmp', 5, '0.log.1.tmp', '0.log.1'],
    ['0.log 0.log.1 0.log.1.gz', 5, '0.log.1', ''],
    ['0.log 1.log 1.log.1 10.log.1 other', 5, '', ''],
  ]
  for (const [names, maxFiles, remove, compress] of cases) {
    const plan = planRotation(names.split(' '), '0.log', maxFiles)
    assert.deepEqual([plan.remove.join(' '), plan.compress.join(' ')], [remove, compress], names)
  }
})

test('names of rotated files sort by time', () => {
  assert.equal(rotatedName(Date.UTC(2026, 10, 5, 3, 4, 5, 678)), '20261105-030405')
})
