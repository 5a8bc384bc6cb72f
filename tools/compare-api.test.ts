import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareDiscovery, type DiscoveryDocument } from './compare-api/compare-discovery.ts'
import { compareOpenApi } from './compare-api/compare-openapi.ts'
import { compareValues, writeDifference } from './compare-api/compare-values.ts'
import { knownDifferences } from './compare-api/known-differences.ts'
import { served } from './compare-api/served.ts'

test('every place in which values differ is told', () => {
  const check = (ours: unknown, theirs: unknown, ...texts: readonly string[]): void => {
    assert.deepEqual(compareValues(ours, theirs).map(writeDifference), texts)
  }
  check({ a: [1, { b: 'x' }] }, { a: [1, { b: 'x' }] })
  check({ a: 1 }, { b: 2 }, '/a: should not be there, is 1', '/b: is missing, should be 2')
  check({ a: { b: 'x' } }, { a: { b: 'y' } }, '/a/b: is "x", should be "y"')
  check([1, 2], [2, 1], '/0: is 1, should be 2', '/1: is 2, should be 1')
  check([1], [1, 2], ': is [1], should be [1,2]')
  check({ a: [] }, { a: {} }, '/a: is [], should be {}')
  check('x'.repeat(300), undefined, `: should not be there, is "${'x'.repeat(199)}...`)
})

test('documents of OpenAPI are compared by what they mean', () => {
  const check = (ours: object, theirs: object, ...places: readonly string[]): void => {
    const differences = compareOpenApi({ ...ours }, { ...theirs }, { isWhole: true })
    assert.deepEqual(
      differences.map(({ place }) => place),
      places,
    )
  }
  const shared = (name: string): object => ({
    parameters: { [name]: { name: 'limit' } },
    paths: [{ $ref: `#/parameters/${name}` }],
  })
  check(shared('limit-1'), shared('limit-2'))
  check(shared('limit-1'), { paths: [{ name: 'limit' }] }, '/paths/0/isShared')
  check({ required: ['a', 'b'] }, { required: ['b', 'a'] })
  check({ produces: ['application/json'] }, { produces: ['application/json', 'application/cbor'] })
  check({ items: { $ref: '#/x' } }, { items: { allOf: [{ $ref: '#/x' }] } }, '/items/$ref', '/items/allOf')
  const text = 'One.\n\nPossible enum values:\n - `"a"`'
  check({ x: { enum: ['a'], description: text } }, { x: { description: 'One.' } })
  check({ x: { enum: ['a'] }, y: { enum: ['a'] } }, { x: { enum: ['a'] }, y: {} }, '/y/enum')
})

test('versions that are switched off are missed only when all should be on', () => {
  const check = (isWhole: boolean, ...places: readonly string[]): void => {
    const theirs = { info: {}, paths: { '/a': {}, '/b': {} }, definitions: { X: {} } }
    const ours = { info: {}, paths: { '/a': {} }, definitions: {} }
    const differences = compareOpenApi(ours, theirs, { isWhole })
    assert.deepEqual(
      differences.map(({ place }) => place),
      places,
    )
  }
  check(true, '/definitions/X', '/paths//b')
  check(false)
})

test('only what is explained is a known difference', () => {
  const check = (place: string, ours: unknown, theirs: unknown, isKnown: boolean): void => {
    const found = knownDifferences.some(({ matches }) =>
      matches({ place, ours, theirs }, new Set(['A pod.'])),
    )
    assert.equal(found, isKnown, place)
  }
  check('/info/version', 'v1.36.4+k8ts.0.1.0', 'unversioned', true)
  check('/info/title', 'k8ts', 'Kubernetes', false)
  check('/x/description', 'one  two', 'one\n\ntwo', true)
  check('/x/description', 'one', 'two', false)
  const values = (text: string): string => `Which.\n\nPossible enum values:\n - \`"A"\`${text}\n - \`"B"\``
  check('/x/description', values(''), values(' is a value.'), true)
  check('/x/description', values(''), values('').replace('"B"', '"C"'), false)
  check('/x/description', 'A pod.', 'Which pod', true)
  check('/x/description', undefined, 'two', true)
  check('/x/default', undefined, '', false)
  check('/x/type', undefined, 'string', false)
  check('/paths//logs/', undefined, {}, true)
  check('/paths//api/v1/pods', undefined, {}, false)
})

test('discovery is compared group by group, in every detail', async () => {
  const get = served('default')
  const check = async (document: DiscoveryDocument, ...places: readonly string[]): Promise<void> => {
    const differences = await compareDiscovery(document, get, { isWhole: false })
    assert.deepEqual(
      differences.map(({ place }) => place),
      places,
    )
  }
  const ours = (await get('/apis/policy/v1')) as DiscoveryDocument & { readonly resources: readonly object[] }
  const [first, ...others] = ours.resources
  const changed = { ...ours, resources: [{ ...first, verbs: ['get'] }, ...others] }
  await check(ours)
  await check(changed, '/apis/policy/v1/resources/0/verbs')
  await check({ kind: 'APIResourceList', groupVersion: 'policy/v2' })
})
