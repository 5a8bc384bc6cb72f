import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePodName } from './identity.ts'

test('parsePodName returns the set and the ordinal', () => {
  const cases: Readonly<Record<string, string>> = {
    'web-0': 'web 0',
    'web-10': 'web 10',
    'my-web-7': 'my-web 7',
    'web-2147483647': 'web 2147483647',
    'web-2147483648': '',
    'web-99999999999999999999': '',
    'web-01': '',
    'web-': '',
    'web': '',
    '-1': '',
    'web-1x': '',
    'web--1': 'web- 1',
    '': '',
  }
  for (const [name, expected] of Object.entries(cases)) {
    const parsed = parsePodName(name)
    assert.equal(parsed ? `${parsed.parent} ${parsed.ordinal}` : '', expected, name)
  }
})
