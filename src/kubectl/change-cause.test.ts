import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeCauseOf, withChangeCause } from './change-cause.ts'

test('the change cause is the command line with full names of flags, without secrets', () => {
  const recorded = {
    args: ['pod', 'web-0', 'a=b'],
    flags: { record: true },
    flagTexts: new Map([
      ['token', ['secret']],
      ['filename', ['a', 'b']],
      ['record', ['true']],
    ]),
    commandPath: 'kubectl label',
  }
  const cause = 'kubectl label pod web-0 a=b --token=CLASSIFIED --filename=a --filename=b --record=true'
  assert.equal(changeCauseOf(recorded), cause)
  assert.equal(changeCauseOf({ ...recorded, flags: {} }), undefined)
  assert.deepEqual(withChangeCause({ metadata: { annotations: { a: 'b' } } }, cause), {
    metadata: { annotations: { 'a': 'b', 'kubernetes.io/change-cause': cause } },
  })
})
