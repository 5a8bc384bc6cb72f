import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#/api/text/json-object.ts'
import { parseWaitCondition, splitAtEquals } from './wait-condition.ts'

const pod: JsonObject = {
  metadata: { name: 'web-0', generation: 3 },
  status: {
    phase: 'Running',
    replicas: 2,
    observedGeneration: 3,
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Old', status: 'True', observedGeneration: 2 },
      { type: 'Off', status: 'False' },
    ],
  },
}

test('conditions and fields of an object are compared', () => {
  const check = (text: string, isMet: boolean) => {
    const condition = parseWaitCondition(text)
    assert.equal(condition.type, 'state')
    if (condition.type === 'state') assert.equal(condition.isMet(pod), isMet, text)
  }
  check('condition=Ready', true)
  check('condition=ready=TRUE', true)
  check('condition=Ready=False', false)
  check('condition=Off=false', true)
  check('condition=Old', false)
  check('condition=Missing', false)
  check('jsonpath={.status.phase}=Running', true)
  check(`jsonpath={.status.phase}='Running'`, true)
  check('jsonpath=.status.phase=Failed', false)
  check('jsonpath={.status.replicas}=2', true)
  check('jsonpath={.status.phase}', true)
  check('jsonpath={.status.message}', false)
  check('jsonpath={.status.conditions[?(@.type=="Off")].status}=False', true)
})

test('a field that is not a single value is an error', () => {
  const fails = (text: string, message: RegExp) => {
    const condition = parseWaitCondition(text)
    assert.throws(() => condition.type === 'state' && condition.isMet(pod), message)
  }
  fails('jsonpath={.status.conditions}=x', /nested object or list/)
  fails('jsonpath={.metadata}=x', /nested object or list/)
  fails('jsonpath={.status.conditions[*].type}=x', /more than one value/)
})

test('invalid conditions are refused', () => {
  const fails = (text: string, message: RegExp) => assert.throws(() => parseWaitCondition(text), message)
  fails('nothing', /unrecognized condition: "nothing"/)
  fails('jsonpath=', /cannot be empty/)
  fails('jsonpath={.a}=', /has to have a value/)
  fails('jsonpath={.a}=b=c', /format must be/)
  fails('jsonpath={.a', /unexpected path string/)
  assert.deepEqual(parseWaitCondition('Delete'), { type: 'delete' })
  assert.deepEqual(parseWaitCondition('create'), { type: 'create' })
})

test('a text is split at single equal signs', () => {
  const check = (text: string, parts: readonly string[]) => assert.deepEqual(splitAtEquals(text), parts)
  check('a', ['a'])
  check('a=b', ['a', 'b'])
  check('a==b=c', ['a==b', 'c'])
  check('a===b', ['a==', 'b'])
  check('a=', ['a', ''])
  check('', [''])
})
