import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesRegistry, registryOfKey } from './match-registry.ts'

test('credentials match a registry or a path prefix', () => {
  const yes = [
    ['quay.io', 'quay.io/a/b'],
    ['quay.io/a', 'quay.io/a/b'],
    ['quay.io/a', 'quay.io/ab/c'],
    ['*.docker.io', 'blah.docker.io/it'],
    ['*.*.example.com', 'a.b.example.com/it'],
    ['reg?.example.com', 'reg1.example.com/it'],
    ['re*g*.example.com', 'rexxgyy.example.com/it'],
    ['localhost:5000', 'localhost:5000/it'],
    ['*:5000', 'localhost:5000/it'],
  ]
  const no = [
    ['quay.io', 'quay.com/a'],
    ['quay.io/b', 'quay.io/a/b'],
    ['*.docker.io', 'docker.io/it'],
    ['*.docker.io', 'a.b.docker.io/it'],
    ['*', 'quay.io/it'],
    ['reg?.example.com', 'reg.example.com/it'],
    ['localhost', 'localhost:5000/it'],
    ['localhost:5001', 'localhost:5000/it'],
    ['a*b.io', 'ac.io/it'],
  ]
  for (const [pattern = '', repository = ''] of yes) assert.ok(matchesRegistry(pattern, repository), pattern)
  for (const [pattern = '', repository = ''] of no) assert.ok(!matchesRegistry(pattern, repository), pattern)
})

test('docker config keys are normalized to registry hosts', () => {
  const cases: Readonly<Record<string, string>> = {
    'https://index.docker.io/v1/': 'index.docker.io',
    'http://localhost:5000': 'localhost:5000',
    'quay.io/v2/': 'quay.io',
    'quay.io/v2/me': 'quay.io/me',
    'quay.io/me': 'quay.io/me',
    'quay.io/': 'quay.io',
    '*.example.com/a/b': '*.example.com/a/b',
  }
  for (const [key, expected] of Object.entries(cases)) assert.equal(registryOfKey(key), expected, key)
})

test('matching a hostile registry pattern takes linear time', () => {
  assert.equal(matchesRegistry(`${'*a'.repeat(5_000)}b`, 'a'.repeat(5_000)), false)
})
