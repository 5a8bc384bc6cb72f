import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#/api/text/json-object.ts'
import {
  describeReference,
  environmentFrom,
  parseEnvironment,
  requireNoOverwrites,
  splitEnvironmentArguments,
  updateEnvironment,
} from './environment.ts'
import { textOf } from './pod-spec.ts'

const words = (text: string): readonly string[] => text.split(' ').filter(word => word !== '')

test('arguments are split where the variables begin', () => {
  assert.deepEqual(splitEnvironmentArguments(words('pod/a A=1 B-')), {
    resources: ['pod/a'],
    words: ['A=1', 'B-'],
  })
  assert.deepEqual(splitEnvironmentArguments(words('pod/a -')), { resources: ['pod/a'], words: ['-'] })
  assert.throws(
    () => splitEnvironmentArguments(words('pod/a A=1 b')),
    /before environment changes: pod\/a A=1 b$/,
  )
})

test('variables are set, removed and read from stdin', () => {
  const check = (text: string, expected: string | RegExp, input = ''): void => {
    if (expected instanceof RegExp) {
      assert.throws(() => parseEnvironment(words(text), input), expected)
      return
    }
    const { set, removed } = parseEnvironment(words(text), input)
    const shown = [
      ...set.map(({ name, value }) => `${textOf(name)}=${textOf(value)}`),
      ...removed.map(name => `-${name}`),
    ]
    assert.equal(shown.join(' '), expected)
  }
  check('A=1 B=2=3 C-', 'A=1 B=2=3 -C')
  check('A=1 -', 'A=1 B=2 C=', 'B=2\r\n# D=4\nC=# nothing\nE\n')
  check('1A=1', /"1A" is not a valid key name: a valid environment variable name must/)
  check('A=1 A-', /can not both modify and remove the same environment variable/)
})

/** `A=1 B=2` */
function variables(text: string): JsonObject[] {
  return words(text).map(word => ({ name: word.split('=')[0]!, value: word.split('=')[1]! }))
}

test('variables keep their place, and duplicates of changed ones are removed', () => {
  const check = (existing: string, changes: string, expected: string): void => {
    const updated = updateEnvironment(variables(existing), parseEnvironment(words(changes), ''))
    assert.deepEqual(updated, variables(expected), changes)
  }
  check('A=1 B=2', 'A=3', 'A=3 B=2')
  check('A=1', 'C=3 B=2', 'A=1 C=3 B=2')
  check('A=1 B=2 A=3', 'A=4', 'A=4 B=2')
  check('A=1 B=2 A=3', 'B=4', 'A=1 B=4 A=3')
  check('A=1 B=2', 'A-', 'B=2')
  check('', 'A=1 A=2', 'A=1')
})

test('other values are not overwritten', () => {
  const changes = parseEnvironment(['A=1', 'B=2'], '')
  assert.doesNotThrow(() => requireNoOverwrites(variables('A=1'), changes))
  assert.throws(() => requireNoOverwrites(variables('B=3'), changes), /^Error: 'B' already has a value \(3\)/)
})

test('keys of ConfigMaps and Secrets become variables', () => {
  const source = { kind: 'Secret', metadata: { name: 's' }, data: { 'user-name': '', 'B': '' } }
  assert.deepEqual(environmentFrom(source, ['user-name']), [
    { key: 'user-name', name: 'USER_NAME', valueFrom: { secretKeyRef: { name: 's', key: 'user-name' } } },
  ])
  assert.deepEqual(environmentFrom({ kind: 'ConfigMap' }, []), [])
  assert.equal(environmentFrom({ kind: 'Pod' }, []), undefined)
})

test('references are described', () => {
  assert.equal(describeReference({ configMapKeyRef: { name: 'a', key: 'b' } }), 'configmap a, key b')
  assert.equal(describeReference({ secretKeyRef: { name: 'a', key: 'b' } }), 'secret a, key b')
  assert.equal(describeReference({ fieldRef: { fieldPath: 'metadata.name' } }), 'field path metadata.name')
  assert.equal(
    describeReference({ resourceFieldRef: { containerName: 'c', resource: 'limits.cpu' } }),
    'resource field c/limits.cpu',
  )
  assert.equal(describeReference({}), 'invalid valueFrom')
})
