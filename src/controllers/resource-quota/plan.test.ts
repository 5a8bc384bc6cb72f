import assert from 'node:assert/strict'
import { test } from 'node:test'
import { amountsOf } from '#/api/quota.ts'
import { planQuota } from './plan.ts'

type List = Readonly<Record<string, string>>

/** `pods=2 cpu=1500m`; empty for an empty list. */
function listOf(text: string): List {
  return Object.fromEntries(text.split(' ').flatMap(each => (each === '' ? [] : [each.split('=')])))
}

interface Case {
  readonly hard?: string
  readonly before?: string
  readonly counted: string
  readonly released?: string
  readonly isSure?: boolean
}

function check(world: Case, expected: string | undefined, hasExcess = false): void {
  const { hard = 'pods=9', before, counted, released = '', isSure = false } = world
  const status = before === undefined ? {} : { hard: listOf(hard), used: listOf(before) }
  const plan = planQuota({
    quota: { metadata: {}, spec: { hard: listOf(hard) }, status },
    counted: amountsOf(listOf(counted)),
    released: amountsOf(listOf(released)),
    isSure,
  })
  assert.deepEqual(
    plan.status?.used,
    expected === undefined ? undefined : listOf(expected),
    JSON.stringify(world),
  )
  assert.equal(plan.hasExcess, hasExcess, JSON.stringify(world))
}

test('counted usage is written when the status has none or less', () => {
  check({ counted: 'pods=2' }, 'pods=2')
  check({ counted: 'pods=0' }, 'pods=0')
  check({ before: 'pods=2', counted: 'pods=2' }, undefined)
  check({ before: 'pods=1', counted: 'pods=2' }, 'pods=2')
  check({ hard: 'memory=1Gi', before: 'memory=1048576Ki', counted: 'memory=1Gi' }, undefined)
  check({ counted: '' }, '')
})

test('usage charged by admission stays, except for what was released', () => {
  check({ before: 'pods=3', counted: 'pods=2' }, undefined, true)
  check({ before: 'pods=3', counted: 'pods=2', released: 'pods=1' }, 'pods=2')
  check({ before: 'pods=5', counted: 'pods=2', released: 'pods=1' }, 'pods=4', true)
  check({ before: 'pods=2', counted: 'pods=2', released: 'pods=1' }, undefined)
  check({ before: 'pods=1', counted: 'pods=2', released: 'pods=1' }, 'pods=2')
})

test('without requests in flight, used equals the counted usage', () => {
  check({ before: 'pods=3', counted: 'pods=2', isSure: true }, 'pods=2')
  check({ before: 'pods=2', counted: 'pods=2', isSure: true }, undefined)
})

test('usage without an evaluator is kept, usage without a limit is removed', () => {
  const hard = 'pods=9 count/things.example.com=4'
  check({ hard, counted: 'pods=1' }, 'pods=1')
  check({ hard, before: 'pods=1 count/things.example.com=2', counted: 'pods=1' }, undefined)
  check(
    { hard, before: 'pods=0 count/things.example.com=2', counted: 'pods=1' },
    'pods=1 count/things.example.com=2',
  )
  check({ before: 'pods=1 cpu=2', counted: 'pods=1' }, 'pods=1')
})

test('status.hard equals spec.hard', () => {
  const status = (hard: List): unknown => {
    return planQuota({
      quota: { metadata: {}, spec: { hard: { memory: '1Gi' } }, status: { hard, used: { memory: '0' } } },
      counted: amountsOf({ memory: '0' }),
      released: new Map(),
      isSure: false,
    }).status
  }
  assert.deepEqual(status({ memory: '2Gi' }), { hard: { memory: '1Gi' }, used: { memory: '0' } })
  assert.deepEqual(status({}), { hard: { memory: '1Gi' }, used: { memory: '0' } })
  assert.equal(status({ memory: '1024Mi' }), undefined)
})
