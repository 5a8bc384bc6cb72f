import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatFieldError } from '../field-error.ts'
import { deepFreeze } from '../text/json-value.ts'
import type { Labels } from '../labels.ts'
import { parseSelector } from './parse-selector.ts'
import {
  compileLabelSelector,
  everything,
  formatLabelSelector,
  nothing,
  selectorFromLabels,
  validateLabelSelector,
  type LabelSelector,
} from './selector.ts'
import { SelectorError } from './selector-error.ts'

/** Checks that a selector such as `a=1` matches the first labels and not the second. */
function check(text: string, selected: Labels | undefined, refused: Labels | undefined): void {
  const selector = parseSelector(text)
  assert.equal(selector.matches(selected), true, `${text} selects ${JSON.stringify(selected)}`)
  assert.equal(selector.matches(refused), false, `${text} does not select ${JSON.stringify(refused)}`)
}

test('label selectors match labels', () => {
  check('a=1', { a: '1', b: '2' }, { a: '2' })
  check('a==1', { a: '1' }, {})
  check('a=', { a: '' }, {})
  check('a!=1', {}, { a: '1' })
  check('a!=1', { a: '2' }, { a: '1' })
  check('a', { a: '' }, {})
  check('!a', undefined, { a: '' })
  check('a in (1,2)', { a: '2' }, { a: '3' })
  check('a in (1,2)', { a: '1' }, undefined)
  check('a in ()', { a: '' }, {})
  check('a notin (1,2)', { a: '3' }, { a: '1' })
  check('a notin (1,2)', {}, { a: '2' })
  check('a=1,b=2', { a: '1', b: '2' }, { a: '1' })
  check('a>1', { a: '2' }, { a: '1' })
  check('a<10', { a: '9' }, { a: '10' })
  check('a>1', { a: '9223372036854775807' }, { a: 'x' })
  check('a>9223372036854775806', { a: '9223372036854775807' }, { a: '9223372036854775806' })
  check('a>1', { a: '5' }, { a: '9223372036854775808' })
  check('a>1', { a: '5' }, {})
})

test('label selectors ignore inherited properties', () => {
  check('constructor', { constructor: 'x' }, {})
  check('!constructor', {}, { constructor: 'x' })
  check('toString!=x', {}, JSON.parse('{"toString":"x"}'))
  check('constructor notin (a,b)', {}, { constructor: 'a' })
})

test('selectors that match everything and nothing', () => {
  assert.deepEqual([everything.matches({}), everything.isEmpty, everything.toString()], [true, true, ''])
  assert.deepEqual([nothing.matches({}), nothing.matches({ a: '1' }), nothing.isEmpty], [false, false, false])
  assert.equal(parseSelector('').isEmpty, true)
  assert.equal(compileLabelSelector(undefined), nothing)
  assert.equal(compileLabelSelector({}), everything)
  assert.equal(compileLabelSelector({ matchLabels: {}, matchExpressions: [] }), everything)
  assert.equal(selectorFromLabels(undefined), everything)
})

test('label selectors are compiled once and agree with their text', () => {
  const selector: LabelSelector = deepFreeze({
    matchLabels: { app: 'web' },
    matchExpressions: [
      { key: 'tier', operator: 'In', values: ['b', 'a'] },
      { key: 'env', operator: 'NotIn', values: ['dev'] },
      { key: 'x', operator: 'Exists' },
      { key: 'y', operator: 'DoesNotExist', values: [] },
    ],
  })
  const compiled = compileLabelSelector(selector)
  assert.equal(compiled.toString(), 'app=web,env notin (dev),tier in (a,b),x,!y')
  assert.equal(compileLabelSelector(selector), compiled)
  assert.equal(compiled.matches({ app: 'web', tier: 'a', x: '' }), true)
  assert.equal(compiled.matches({ app: 'web', tier: 'a', x: '', y: '' }), false)
  assert.equal(formatLabelSelector(selector), compiled.toString())
  assert.equal(formatLabelSelector(undefined), '<none>')
  assert.equal(formatLabelSelector({}), '<none>')
  assert.equal(formatLabelSelector({ matchLabels: { 'a b': '' } }), '<error>')
})

test('invalid label selectors are rejected', () => {
  const refuse = (selector: LabelSelector, message: RegExp): void => {
    assert.throws(
      () => compileLabelSelector(selector),
      error => error instanceof SelectorError && message.test(error.message),
    )
  }
  refuse(
    { matchExpressions: [{ key: 'a', operator: 'in' }] },
    /^"in" is not a valid label selector operator$/,
  )
  refuse(
    { matchExpressions: [{ key: 'a', operator: 'constructor' }] },
    /^"constructor" is not a valid label selector operator$/,
  )
  refuse(
    { matchExpressions: [{ key: 'a', operator: 'In' }] },
    /^values: Invalid value: \[\]: for 'in', 'notin' operators, values set can't be empty$/,
  )
  refuse(
    { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
    /^values: Invalid value: \["b"\]: values set must be empty for exists and does not exist$/,
  )
  refuse({ matchLabels: { '/a': 'b' } }, /^key: Invalid value: "\/a": prefix part must be non-empty$/)
  refuse({ matchLabels: { a: '-' } }, /^values\[0\]\[a\]: Invalid value: "-": a valid label must be/)
})

test('label selector validation reports field paths', () => {
  const errors = validateLabelSelector('spec.selector', {
    matchLabels: { a: '-' },
    matchExpressions: [
      { key: 'a', operator: 'In', values: ['b'] },
      { key: 'a', operator: 'NotIn' },
      { key: 'a', operator: 'Exists', values: ['b'] },
      { key: '/a', operator: 'Gt', values: ['-'] },
    ],
  })
  const texts = errors.map(formatFieldError).map(text => text.replace(/: a valid label must be.*/, ': ...'))
  assert.deepEqual(texts, [
    'spec.selector.matchLabels: Invalid value: "-": ...',
    "spec.selector.matchExpressions[1].values: Required value: must be specified when `operator` is 'In' " +
      "or 'NotIn'",
    "spec.selector.matchExpressions[2].values: Forbidden: may not be specified when `operator` is 'Exists' " +
      "or 'DoesNotExist'",
    'spec.selector.matchExpressions[3].operator: Invalid value: "Gt": not a valid selector operator',
    'spec.selector.matchExpressions[3].key: Invalid value: "/a": prefix part must be non-empty',
    'spec.selector.matchExpressions[3].values[0]: Invalid value: "-": ...',
  ])
  assert.deepEqual(validateLabelSelector('spec.selector', undefined), [])
})

test('requiresExact returns the exact value of a label requirement', () => {
  const exact = (text: string): string | undefined => parseSelector(text).requiresExact('a')
  assert.equal(exact('a=1,b=2'), '1')
  assert.equal(exact('a in (1)'), '1')
  assert.equal(exact('a='), '')
  for (const text of ['', 'b=2', 'a', '!a', 'a!=1', 'a in (1,2)', 'a notin (1)', 'a>1']) {
    assert.equal(exact(text), undefined)
  }
})

test('matchLabels requires all labels', () => {
  const labels = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'constructor'), fc.constantFrom('', '1', '2'), {
    noNullPrototype: true,
  })
  fc.assert(
    fc.property(labels, labels, (wanted, present) => {
      const expected = Object.entries(wanted).every(([key, value]) => {
        return Object.hasOwn(present, key) && present[key] === value
      })
      assert.equal(selectorFromLabels(wanted).matches(present), expected)
      assert.equal(compileLabelSelector({ matchLabels: wanted }).matches(present), expected)
      assert.equal(parseSelector(selectorFromLabels(wanted).toString()).matches(present), expected)
    }),
  )
})
