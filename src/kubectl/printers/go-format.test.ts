import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareText, formatJson, formatSyntax, formatValue } from './go-format.ts'

const value = {
  'b': [1, 1.5, 1e21, 1e-7, -1],
  '10': '<a> & "b"\u2028',
  '9': null,
  '-': true,
  'empty': [{}, []],
  'big': 12345678901234567n,
  '😀': '',
  '\uffee': '',
}

test('Go prints maps sorted by the bytes of their keys', () => {
  assert.equal(
    formatValue(value),
    'map[-:true 10:<a> & "b"\u2028 9:<nil> b:[1 1.5 1e+21 1e-07 -1] ' +
      'big:12345678901234567 empty:[map[] []] \uffee: 😀:]',
  )
  assert.equal(
    formatSyntax({ b: [1, 'a"', {}], a: null }),
    'map[string]interface {}{"a":interface {}(nil), "b":[]interface {}{1, "a\\"", map[string]interface {}{}}}',
  )
})

test('Go encodes JSON with sorted keys and without HTML', () => {
  assert.equal(
    formatJson(value),
    '{"-":true,"10":"\\u003ca\\u003e \\u0026 \\"b\\"\\u2028","9":null,"b":[1,1.5,1e+21,1e-7,-1],' +
      '"big":12345678901234567,"empty":[{},[]],"\uffee":"","😀":""}',
  )
  assert.equal(
    formatJson({ b: [1, {}], a: { '<': [] } }, '    '),
    '{\n    "a": {\n        "\\u003c": []\n    },\n    "b": [\n        1,\n        {}\n    ]\n}',
  )
})

test('text is ordered by code points', () => {
  const texts = ['', 'a', 'ab', 'b', 'é', '\uffee', '😀', '😀a']
  assert.deepEqual([...texts].reverse().sort(compareText), texts)
})
