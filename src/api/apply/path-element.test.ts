import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  compareText,
  FieldPathError,
  keyElement,
  parseElement,
  printElement,
  sortElements,
} from './path-element.ts'

function check(text: string, canonical: string, printed: string): void {
  assert.equal(parseElement(text), canonical)
  assert.equal(printElement(canonical), printed)
}

test('path elements are parsed canonically and printed like Kubernetes', () => {
  check('f:spec', 'f:spec', '.spec')
  check('f:', 'f:', '.')
  check('f:a:b', 'f:a:b', '.a:b')
  check('f:__proto__', 'f:__proto__', '.__proto__')
  check('k:{"name":"web"}', 'k:{"name":"web"}', '[name="web"]')
  check(
    'k:{ "protocol": "TCP", "containerPort": 80 }',
    'k:{"containerPort":80,"protocol":"TCP"}',
    '[containerPort=80,protocol="TCP"]',
  )
  check('k:{"__proto__":1}', 'k:{"__proto__":1}', '[__proto__=1]')
  check('k:{"ready":true,"none":null}', 'k:{"none":null,"ready":true}', '[none=null,ready=true]')
  check('v:"a"', 'v:"a"', '[="a"]')
  check('v:"\\u0061"', 'v:"a"', '[="a"]')
  check('v:"a<b"', 'v:"a\\u003cb"', '[="a<b"]')
  check('v:1.0', 'v:1', '[=1]')
  check('v:9007199254740993', 'v:9007199254740993', '[=9007199254740993]')
  check('i:7', 'i:7', '[7]')
  check('i:007', 'i:7', '[7]')
})

test('path elements of unknown types are skipped', () => {
  assert.equal(parseElement('x:1'), undefined)
  assert.equal(parseElement('F:a'), undefined)
})

test('malformed path elements are rejected', () => {
  const refused = [
    '',
    'f',
    'name',
    'k:',
    'k:1',
    'k:[]',
    'k:{}',
    'k:{"a":{}}',
    'k:{"a":[1]}',
    'v:',
    'v:{}',
    'v:[1]',
    'v:a',
    'v:"a" 1',
    'i:',
    'i:a',
    'i:-1',
    'i:1.5',
    'i:99999999999999999999',
    `v:${'['.repeat(100_000)}`,
  ]
  for (const text of refused) assert.throws(() => parseElement(text), FieldPathError, text.slice(0, 30))
})

test('path elements are ordered like Kubernetes: fields, keys, values, indexes', () => {
  const ordered = [
    'f:',
    'f:A',
    'f:a',
    'f:ab',
    'f:b',
    'f:\uff00',
    'f:\u{1f600}',
    'k:{"a":2}',
    'k:{"a":10}',
    'k:{"a":"1"}',
    'k:{"a":"1","b":0}',
    'k:{"a":false}',
    'k:{"a":true}',
    'k:{"a":null}',
    'k:{"b":1}',
    'v:-1',
    'v:1.5',
    'v:2',
    'v:9007199254740993',
    'v:"10"',
    'v:"2"',
    'v:"2 b"',
    'v:"2!"',
    'v:"2\\""',
    'v:"2#"',
    'v:false',
    'v:true',
    'i:2',
    'i:10',
  ]
  assert.deepEqual(sortElements(ordered.toReversed()), ordered)
})

test('compareText orders by code points', () => {
  const unit = fc.constantFrom('a', 'b', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}')
  const text = fc.string({ unit })
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.equal(Math.sign(compareText(a, b)), Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b))))
    }),
  )
})

test('serialized path elements round trip', () => {
  const scalar = fc.oneof(
    fc.string(),
    fc.boolean(),
    fc.constant(null),
    fc.integer(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 62n }),
  )
  fc.assert(
    fc.property(fc.dictionary(fc.string(), scalar, { minKeys: 1 }), key => {
      const fields = Object.entries(key).sort(([a], [b]) => compareText(a, b))
      const element = keyElement(fields)
      assert.equal(parseElement(element), element)
    }),
  )
})
