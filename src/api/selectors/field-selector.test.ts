import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { escapeFieldValue, FieldSelector, parseFieldSelector } from './field-selector.ts'
import { SelectorError } from './selector-error.ts'

function check(text: string, printed: string): void {
  assert.equal(parseFieldSelector(text).toString(), printed)
}

function refuse(text: string, message: string): void {
  assert.throws(
    () => parseFieldSelector(text),
    error => error instanceof SelectorError && error.message === message,
    text,
  )
}

test('field selectors are parsed and formatted', () => {
  check('', '')
  check(',,', '')
  check('metadata.name=web', 'metadata.name=web')
  check('metadata.name==web', 'metadata.name=web')
  check('status.phase!=Running,metadata.name=x', 'metadata.name=x,status.phase!=Running')
  check('a=', 'a=')
  check('a=b c', 'a=b c')
  check('a=b!', 'a=b!')
  check('=b', '=b')
  check('a=b\\,c\\=d\\\\', 'a=b\\,c\\=d\\\\')
  check('__proto__=x', '__proto__=x')
})

test('field selector values are unescaped', () => {
  assert.deepEqual(parseFieldSelector('a=b\\,c\\=d\\\\,e!=f').requirements, [
    { field: 'a', operator: '=', value: 'b,c=d\\' },
    { field: 'e', operator: '!=', value: 'f' },
  ])
})

test("field selector syntax errors have Kubernetes' messages", () => {
  refuse('a', "invalid selector: 'a'; can't understand 'a'")
  refuse('b=c,a', "invalid selector: 'b=c,a'; can't understand 'a'")
  refuse('a=b=c', 'invalid field selector: unescaped character in value: 61')
  refuse('a===b', 'invalid field selector: unescaped character in value: 61')
  refuse('a=\\b', 'invalid field selector: invalid escape sequence: \\b')
  refuse('a=b\\', 'invalid field selector: invalid escape sequence: \\')
  refuse('a=\\🎉', 'invalid field selector: invalid escape sequence: \\🎉')
})

test('field selectors treat absent fields as empty', () => {
  const fields = new Map([
    ['metadata.name', 'web'],
    ['status.phase', 'Running'],
  ])
  const matches = (text: string): boolean => parseFieldSelector(text).matches(field => fields.get(field))
  const selecting = ['', 'metadata.name=web', 'status.phase!=Failed', 'spec.nodeName=', 'spec.nodeName!=x']
  for (const text of selecting) assert.equal(matches(text), true, text)
  const refusing = ['metadata.name=x', 'metadata.name!=web', 'metadata.name=web,status.phase=x', 'spec.x=n']
  for (const text of refusing) assert.equal(matches(text), false, text)
})

test('requiresExact returns the exact value of a field requirement', () => {
  const selector = parseFieldSelector('a=1,b!=2,c=')
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map(field => selector.requiresExact(field)),
    ['1', undefined, '', undefined],
  )
})

test('escaped field selector values round trip, and any text parses or throws SelectorError', () => {
  const value = fc.string({ unit: fc.constantFrom('a', '\\', ',', '=', '!', '\n', 'é', '🎉', '\ud800') })
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 3 }), values => {
      const selector = new FieldSelector(
        values.map((value, index) => {
          return { field: `f${index}`, operator: '=', value }
        }),
      )
      const again = parseFieldSelector(selector.toString())
      assert.deepEqual(
        values.map((_, index) => again.requiresExact(`f${index}`)),
        values,
      )
    }),
  )
  const text = fc.string({ unit: fc.constantFrom('a', '=', '!', '\\', ',', ' ') })
  fc.assert(
    fc.property(text, source => {
      try {
        const selector = parseFieldSelector(source)
        assert.equal(parseFieldSelector(selector.toString()).toString(), selector.toString())
      } catch (error) {
        assert.ok(error instanceof SelectorError)
      }
    }),
    { numRuns: 500 },
  )
})

test('field selectors are parsed in linear time', () => {
  const terms = Array.from({ length: 100_000 }, (_, index) => `f${index}=\\,`).join(',')
  assert.equal(parseFieldSelector(terms).requirements.length, 100_000)
  assert.equal(escapeFieldValue('\\'.repeat(100_000)).length, 200_000)
  assert.equal(parseFieldSelector(`a=${'\\\\'.repeat(100_000)}`).requiresExact('a')?.length, 100_000)
})
