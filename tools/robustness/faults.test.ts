import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { planFaults, type Fault, type FaultGroup, type TargetPart } from './faults.ts'

const parts = {
  'kill': ['api-server'],
  'stop': ['api-server'],
  'sync-error': ['api-server', 'syncs'],
  'slow-sync': ['syncs'],
  'full-disk': ['disk'],
  'damage': ['api-server', 'disk'],
} as const satisfies Partial<Record<Fault['kind'], readonly TargetPart[]>>

type Kind = keyof typeof parts

const allKinds = Object.keys(parts) as Kind[]

function faultsOf(kinds: readonly Kind[]): Fault[] {
  return kinds.map(kind => ({ kind, parts: parts[kind], inject: async () => async () => undefined }))
}

function plan(seed: string, kinds: readonly Kind[] = allKinds): FaultGroup[] {
  return planFaults(faultsOf(kinds), new SeededRandom(seed)).take(300).toArray()
}

function describe(groups: readonly FaultGroup[]): string {
  return groups.map(({ faults }) => faults.map(({ fault }) => fault.kind).join('+')).join(' ')
}

test('a seed gives the same groups of faults, and each kind comes once in every round', () => {
  const check = (seed: string, kinds: readonly Kind[], expected: string): void => {
    const planned = describe(plan(seed, kinds))
    assert.ok(`${planned} `.startsWith(`${expected} `), planned.slice(0, 200))
    const all = planned.split(/[ +]/)
    for (let start = 0; start + kinds.length <= all.length; start += kinds.length) {
      assert.deepEqual(all.slice(start, start + kinds.length).sort(), [...kinds].sort())
    }
  }
  check('1', ['kill'], 'kill kill kill')
  check('1', ['kill', 'stop'], 'kill stop stop kill kill stop')
  check('1', ['kill', 'slow-sync'], 'kill+slow-sync kill+slow-sync slow-sync+kill slow-sync kill')
  check('1', allKinds, 'stop sync-error+full-disk damage kill+slow-sync kill full-disk')
  check('2', allKinds, 'sync-error+full-disk slow-sync+kill stop damage full-disk')
})

test('faults of a group overlap and have no part in common', () => {
  const groups = plan('1')
  for (const { quietMs, faults } of groups) {
    const [first, ...others] = faults
    assert.equal(first!.delayMs, 0)
    for (const { delayMs } of others) assert.ok(delayMs < first!.lengthMs)
    const used = faults.flatMap(({ fault }) => fault.parts)
    assert.equal(new Set(used).size, used.length, describe(groups))
    assert.ok(quietMs > 0 && faults.every(({ lengthMs }) => lengthMs > 0 && lengthMs < 10_000))
  }
  const sizes = new Set(groups.map(({ faults }) => faults.length))
  assert.deepEqual(sizes, new Set([1, 2, 3]))
})
