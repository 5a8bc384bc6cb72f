import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Taint } from '#/api/generated/core/v1.ts'
import { conflictingTaints, parseTaints, planTaints } from './plan-taints.ts'

function show({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ''}:${effect}`
}

/** `a=b:NoSchedule c:NoExecute`. */
function taints(text: string): readonly Taint[] {
  return parseTaints(text.split(' ').filter(Boolean)).added
}

test('taints are added, replaced and removed', () => {
  const check = (had: string, specs: string, plan: string, overwrite = false) => {
    const changes = parseTaints(specs.split(' '))
    const { operation, taints: result } = planTaints({
      node: 'n',
      taints: taints(had),
      overwrite,
      ...changes,
    })
    assert.equal([operation, ...result.map(show)].join(' '), plan, `${had} ${specs}`)
  }
  check('', 'a=1:NoSchedule', 'tainted a=1:NoSchedule')
  check('', 'a:NoSchedule', 'tainted a:NoSchedule')
  check('a=1:NoSchedule', 'a=1:NoExecute', 'tainted a=1:NoExecute a=1:NoSchedule')
  check('a=1:NoSchedule', 'a=2:NoSchedule', 'modified a=2:NoSchedule', true)
  check('a=1:NoSchedule b:NoExecute', 'a-', 'untainted b:NoExecute')
  check('a=1:NoSchedule a:NoExecute', 'a:NoExecute-', 'untainted a=1:NoSchedule')
  check('a=1:NoSchedule', 'b:NoExecute a-', 'modified b:NoExecute')
})

test('taints that exist already or are missing are errors', () => {
  const fails = (had: string, specs: string, message: RegExp) =>
    assert.throws(
      () =>
        planTaints({ node: 'n', taints: taints(had), overwrite: false, ...parseTaints(specs.split(' ')) }),
      message,
    )
  fails('a=1:NoSchedule', 'a=2:NoSchedule', /node n already has a taint\(s\) with same effect/)
  fails('', 'a-', /taint "a" not found/)
  fails('', 'a:NoExecute-', /taint "a:NoExecute" not found/)
  assert.throws(
    () => planTaints({ node: 'n', taints: [], overwrite: false, ...parseTaints(['a-', 'b-']) }),
    (error: AggregateError) => error.errors.length === 2,
  )
})

test('invalid taints are refused', () => {
  const fails = (spec: string, message: RegExp) => assert.throws(() => parseTaints(spec.split(' ')), message)
  fails('a=b', /invalid taint spec: a=b, name part must consist of/)
  fails('a', /invalid taint spec: a/)
  fails('a:b:c', /invalid taint spec: a:b:c/)
  fails('a=b=c:NoSchedule', /invalid taint spec: a=b=c:NoSchedule/)
  fails('a=b:Never', /invalid taint effect: Never, unsupported taint effect/)
  fails('a=-:NoSchedule', /a valid label must be/)
  fails('/a:NoSchedule', /prefix part must be non-empty/)
  fails(
    'a=1:NoSchedule a=2:NoSchedule',
    /duplicated taints with the same key and effect: \{a 2 NoSchedule <nil>\}/,
  )
})

test('a taint cannot be added and removed at the same time', () => {
  const check = (specs: string, conflicts: readonly string[]) =>
    assert.deepEqual(conflictingTaints(parseTaints(specs.split(' '))), conflicts)
  check('a=1:NoSchedule a-', ['a='])
  check('a=1:NoSchedule a:NoSchedule-', ['a=NoSchedule'])
  check('a=1:NoSchedule a:NoExecute-', [])
})
