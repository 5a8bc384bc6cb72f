import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { expandVariables } from './expand-variables.ts'

const values = new Map([
  ['VAR', 'value'],
  ['OTHER', 'x'],
  ['EMPTY', ''],
  ['NESTED', '$(VAR)'],
])

test('$(VAR) is expanded, escaped and undefined references stay', () => {
  const cases: Readonly<Record<string, string>> = {
    '': '',
    'plain': 'plain',
    '$(VAR)': 'value',
    'a$(VAR)b$(OTHER)c': 'avaluebxc',
    '$(EMPTY)': '',
    '$(NESTED)': '$(VAR)',
    '$(MISSING)': '$(MISSING)',
    '$$(VAR)': '$(VAR)',
    '$$$(VAR)': '$value',
    '$$$$(VAR)': '$$(VAR)',
    '$VAR': '$VAR',
    '$': '$',
    '$$': '$',
    '$$$': '$$',
    'cost $5': 'cost $5',
    '$(VAR': '$(VAR',
    '$(VAR$$': '$(VAR$',
    '$(VAR $(OTHER)': '$(VAR $(OTHER)',
    '$()': '$()',
    '$(': '$(',
    '$\u{1f600}(VAR)': '$\u{1f600}(VAR)',
    '$(VAR))': 'value)',
  }
  for (const [text, expected] of Object.entries(cases)) {
    assert.equal(
      expandVariables(text, name => values.get(name)),
      expected,
      text,
    )
  }
})

test('text without references is unchanged', () => {
  const text = fc.string({ unit: fc.constantFrom('$', 'a', '(', ' ') })
  fc.assert(
    fc.property(text, text => {
      if (text.includes('$$')) return
      assert.equal(
        expandVariables(text, () => 'never'),
        text,
      )
    }),
  )
})

test('expanding a hostile text takes linear time', () => {
  const text = '$('.repeat(500_000)
  assert.equal(
    expandVariables(text, () => undefined),
    text,
  )
})
