import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { Alarms } from '../alarms.ts'
import { Space } from './space.ts'

const mebibyte = 1024 * 1024

interface Figures {
  usedBytes?: number
  reservedBytes?: number
  isDiskFull?: boolean
}

function spaceOf(quotaBytes: number, given: Figures = {}) {
  const journal = {
    usedBytes: 0,
    reservedBytes: 4 * mebibyte,
    isDiskFull: false,
    canReserve: false,
    ...given,
    async reserve() {
      if (!journal.canReserve) throw new Error('no space left on device')
      journal.isDiskFull = false
    },
  }
  const alarms = new Alarms(new Simulation({ seed: 1 }).host('a'))
  return { space: new Space({ journal, quotaBytes, alarms }), journal, alarms }
}

test('a write is admitted below the quota, and on a full disk above the reserve for deletions', () => {
  const check = (quotaBytes: number, given: Figures, sizeBytes: number, expected: boolean): void => {
    assert.equal(spaceOf(quotaBytes, given).space.admits(sizeBytes), expected)
  }
  check(0, { usedBytes: 2 ** 40 }, mebibyte, true)
  check(1_000, { usedBytes: 900 }, 100, true)
  check(1_000, { usedBytes: 900 }, 101, false)
  check(1_000, { usedBytes: 1_100 }, 0, false)
  const isDiskFull = true
  check(0, { isDiskFull, reservedBytes: 3 * mebibyte }, 2 * mebibyte, true)
  check(0, { isDiskFull, reservedBytes: 3 * mebibyte }, 2 * mebibyte + 1, false)
  check(0, { isDiskFull: false, reservedBytes: 0 }, mebibyte, true)
})

test('the alarm of the quota is raised by a rejected write and cleared well below the quota', async () => {
  const { space, journal, alarms } = spaceOf(1_000, { usedBytes: 960 })
  const types = (): string[] => alarms.current.map(({ type }) => type)
  assert.equal(await space.recheck(40), true)
  assert.deepEqual(types(), [])
  assert.equal(await space.recheck(41), false)
  assert.deepEqual(alarms.current, [
    { type: 'NOSPACE', message: 'the store has reached its quota: 960 of 1000 bytes are in use' },
  ])
  journal.usedBytes = 951
  await space.refresh()
  assert.deepEqual(types(), ['NOSPACE'])
  journal.usedBytes = 950
  await space.refresh()
  assert.deepEqual(types(), [])
})

test('the alarm of a full disk is cleared when space can be reserved', async () => {
  const { space, journal, alarms } = spaceOf(0, { isDiskFull: true, reservedBytes: mebibyte })
  assert.equal(await space.recheck(1), false)
  assert.deepEqual(alarms.current, [{ type: 'NOSPACE', message: 'the disk of the store is full' }])
  await space.refresh()
  assert.equal(alarms.current.length, 1)
  journal.canReserve = true
  assert.equal(await space.recheck(1), true)
  assert.deepEqual(alarms.current, [])
})
