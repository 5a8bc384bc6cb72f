import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findFloatIntegers } from './find-float-integers.ts'

test('integers written like floats are found with their path', () => {
  const check = (text: string, ...expected: readonly string[]): void => {
    const found = findFloatIntegers(text).map(({ path, literal }) => `${path.join('.')}=${literal}`)
    assert.deepEqual(found, expected, text)
  }
  check('{"a":1.0,"b":1}', 'a=1.0')
  check('{"a":[1,{"b":-2.00}]}', 'a.1.b=-2.00')
  check('[1e3,1.5E1,2e-1]', '0=1e3', '1=1.5E1')
  check('{"a": 1.5, "b": "x,1.0,", "c": 10}')
  check('1.0', '=1.0')
  check('{}')
})
