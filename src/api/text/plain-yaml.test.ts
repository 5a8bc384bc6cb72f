import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parsePlainYaml } from './plain-yaml.ts'
import { stringifyYaml } from './stringify-yaml.ts'
import { readYamlDocumentsCompletely } from './yaml.ts'

test('plain YAML is parsed to the values of the complete parser', () => {
  const check = (text: string): void => {
    assert.deepEqual(parsePlainYaml(text), complete(text), text)
  }
  check('a: b')
  check('a: 1\nb: true\nc: null\nd: ~\ne: 1.5\nf: 0x10\ng: 010\nh: 1e3\ni: yes\nj: 1_000\n')
  check('a:\nb: c')
  check('a:\n  b:\n    c: d\n  e: f\ng: h\n')
  check('- a\n- b: c\n  d: e\n- - f\n  - g\n-\n- h')
  check('a:\n- b\n- c: d\n  e:\n  - f\ng: h')
  check('a:\n  - b\n  - c: d\n    e: f')
  check('-\n  a: b\n')
  check('a: "b: c # d"\ne: \'f: g\'\n"h i": ""\n')
  check('# comment\na: b\n\n   # another\nc: d\n')
  check('a: {}\nb: []\n')
  check('---\na: b\n---\n---\nc: d\n---\n')
  check('')
  check('---')
  check('# a\n---\n---\n# b\n')
  check('url: https://host:6443/path?x=1#fragment\nimage: registry:5000/a/b:1.2@sha256:abc\n')
  check('a: b c  d\ne: -x\nf: a-b\ng: .5\nh: <none>\n')
  check('x: 12345678901234567890123\nm: 9007199254740993\n')
})

test('other YAML is left to the complete parser', () => {
  const check = (text: string): void => assert.equal(parsePlainYaml(text), undefined, text)
  check('a: |\n  text')
  check('a: >-\n  text')
  check('a: {b: c}')
  check('a: [b, c]')
  check('a: &x b\nc: *x')
  check('a: b # comment')
  check('a: b\n  c')
  check('a: "b\\n"')
  check("a: 'it''s'")
  check('a: b: c')
  check('a: b\na: c')
  check('yes: b')
  check('1: b')
  check('<<: b')
  check('? a\n: b')
  check('a:\tb')
  check('%YAML 1.2\n---\na: b')
  check('--- a')
  check('a: !!str 1')
  check('a:\n   b: c\n  d: e')
  check('plain')
  check('__proto__: x')
  check('a: @x')
  check('a: %x')
  check('a: .inf')
  check(`${Array.from({ length: 200 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')} b`)
})

test('printed objects, and damaged ones, are parsed to the values of the complete parser', () => {
  const value = fc.letrec<{ value: unknown }>(tie => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.string(),
      fc.constantFrom('yes', '1', 'a: b', '- x', '#c', '', ' x', 'x ', '~', "it's", '0o7', '1:30', 'x\ny'),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'key', 'on', 'a/b.c', 'x y', '1'), tie('value'), {
        maxKeys: 4,
      }),
    ),
  })).value
  fc.assert(
    fc.property(
      value,
      fc.nat(),
      fc.constantFrom('', '\n', ' ', '- ', ': ', '#', '"', '---\n'),
      (given, at, damage) => {
        const text = stringifyYaml(given as never)
        const index = at % (text.length + 1)
        const damaged = text.slice(0, index) + damage + text.slice(index)
        const plain = parsePlainYaml(damaged)
        if (plain !== undefined) assert.deepEqual(plain, complete(damaged), damaged)
      },
    ),
    { numRuns: 3_000 },
  )
})

/** Undefined when it has an error. */
function complete(text: string): unknown {
  try {
    return [...readYamlDocumentsCompletely(text)].map(({ value }) => value)
  } catch {
    return undefined
  }
}
