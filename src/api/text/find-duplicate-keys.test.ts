import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryJson } from './arbitrary-json.ts'
import { duplicateKeysMax, findDuplicateKeys, hasDuplicateKeys } from './find-duplicate-keys.ts'
import { formatJsonPath } from './json-path.ts'
import { parseJson, stringifyJson } from './json.ts'

/** Checks the duplicates, each as `path@line`. */
function check(text: string, ...expected: string[]): void {
  const found = findDuplicateKeys(text)
  assert.deepEqual(
    found.map(({ path, line }) => `${formatJsonPath(path)}@${line}`),
    expected,
  )
  assert.equal(hasDuplicateKeys(Buffer.from(text), parseJson(text)), expected.length > 0)
}

test('duplicate keys are reported with path and line', () => {
  check('{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}')
  check('{"a":1,"a":2}', 'a@1')
  check('{"a":{"b":1,\n"b":2},\n\n"a":3}', 'a.b@2', 'a@4')
  check('{"a":[0,[{"x":1},{"y":1,"y":2}]]}', 'a[1][1].y@1')
  check('[{"a":{"a":1,"a":2}}]', '[0].a.a@1')
})

test('a key repeated many times is reported once', () => {
  check('{"a":1,"a":2,"a":3,"b":1,"b":2}', 'a@1', 'b@1')
})

test('keys are compared after unescaping', () => {
  check(String.raw`{"a":1,"\u0061":2}`, 'a@1')
  check(String.raw`{"\ud800":1,"\ud801":2}`, '\ufffd@1')
  check(String.raw`{"a\"":1,"a":"}{\",:"}`)
  check('{"__proto__":1,"__proto__":2,"constructor":3}', '__proto__@1')
})

test('100,000 duplicate keys are reported up to the bound', () => {
  const members = Array.from({ length: 200_000 }, (_, index) => `"k${index % 100_000}":1`)
  assert.equal(findDuplicateKeys(`{${members.join(',')}}`).length, duplicateKeysMax)
})

test('serialized values have no duplicate keys, and a repeated member is found', () => {
  fc.assert(
    fc.property(arbitraryJson, value => {
      const text = stringifyJson(value)
      check(text)
      const twice = `{"x":1,"y":${text},"x":2}`
      assert.equal(hasDuplicateKeys(Buffer.from(twice), parseJson(twice)), true)
      assert.deepEqual(
        findDuplicateKeys(twice).map(({ path }) => path),
        [['x']],
      )
    }),
    { numRuns: 100 },
  )
})
