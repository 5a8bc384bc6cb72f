import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conditionOf, isTrue, withCondition, withoutCondition, type Condition } from './conditions.ts'

/** `Type status reason message@since`. */
function conditionFrom(text: string): Condition & { readonly type: string } {
  const [said = '', lastTransitionTime] = text.split('@')
  const [type = '', status = '', reason = '', message = ''] = said.split(' ')
  return { type, status, reason, message, ...(lastTransitionTime && { lastTransitionTime }) }
}

function notation(conditions: readonly Condition[]): string[] {
  return conditions.map(({ type, status, reason, message, lastTransitionTime }) => {
    return `${type} ${status} ${reason} ${message}@${lastTransitionTime}`
  })
}

const both = ['A True r m@1', 'B False r m@1'].map(conditionFrom)

test('setting a condition keeps its place, and its transition time while the status is unchanged', () => {
  const check = (condition: string, expected: string[]): void => {
    assert.deepEqual(notation(withCondition(both, conditionFrom(condition))), expected)
  }
  check('C True r m@2', ['A True r m@1', 'B False r m@1', 'C True r m@2'])
  check('A True r n@2', ['A True r n@1', 'B False r m@1'])
  check('A True q m@2', ['A True q m@1', 'B False r m@1'])
  check('A False r m@2', ['A False r m@2', 'B False r m@1'])
  assert.deepEqual(notation(withCondition(undefined, conditionFrom('A True r m@2'))), ['A True r m@2'])
})

test('setting an equal condition returns the same list', () => {
  assert.equal(withCondition(both, conditionFrom('A True r m@2')), both)
  assert.equal(withoutCondition(both, 'C'), both)
  assert.equal(withoutCondition(undefined, 'C'), undefined)
})

test('conditions are found, evaluated and removed', () => {
  assert.equal(conditionOf(both, 'B'), both[1])
  assert.equal(conditionOf(undefined, 'B'), undefined)
  assert.deepEqual([isTrue(both, 'A'), isTrue(both, 'B'), isTrue(both, 'C')], [true, false, false])
  assert.deepEqual(withoutCondition(both, 'A'), [both[1]])
})
