import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitKeyValueArguments } from '../key-value-arguments.ts'
import {
  labelOperation,
  metadataPatch,
  overwrittenKeys,
  parseAnnotationChanges,
  parseLabelChanges,
  withMetadataChanges,
} from './metadata-changes.ts'

const words = (text: string): readonly string[] => text.split(' ').filter(word => word !== '')

test('arguments are split where the changes begin', () => {
  const check = (text: string, expected: string | RegExp): void => {
    if (expected instanceof RegExp) {
      assert.throws(() => splitKeyValueArguments(words(text), 'label'), expected)
      return
    }
    const { resources, pairs } = splitKeyValueArguments(words(text), 'label')
    assert.equal([...resources, '|', ...pairs].join(' '), expected)
  }
  check('pods web-0', 'pods web-0 |')
  check('pods web-0 a=b c-', 'pods web-0 | a=b c-')
  check('pods -', 'pods - |')
  check('pods =b', 'pods =b |')
  check('pods a=b web-0', /^Error: all resources must be specified before label changes: web-0$/)
})

test('labels are checked, annotations may contain anything', () => {
  const labels = (text: string): string => {
    const { set, removed } = parseLabelChanges(words(text))
    return [...[...set].map(pair => pair.join('=')), ...removed.map(key => `-${key}`)].join(' ')
  }
  assert.equal(labels('a=b c= d-'), 'a=b c= -d')
  assert.throws(() => labels('a=b=c'), /^Error: invalid label spec: a=b=c$/)
  assert.throws(() => labels('a=-'), /^Error: invalid label value: "a=-": a valid label must be/)
  assert.throws(() => labels('a=b a-'), /can not both modify and remove a label/)
  assert.deepEqual([...parseAnnotationChanges(['a=b=c']).set], [['a', 'b=c']])
  assert.throws(
    () => parseAnnotationChanges(['a=b', 'a-']),
    /the following annotation\(s\) in the same command: a$/,
  )
})

interface Case {
  readonly current: Readonly<Record<string, string>>
  readonly changes: string
  readonly operation: string
  readonly overwritten?: string
  readonly patch?: object
}

const cases: readonly Case[] = [
  { current: {}, changes: 'a=1', operation: 'labeled', patch: { a: '1' } },
  { current: { a: '1' }, changes: 'a=1', operation: 'not labeled' },
  { current: { a: '1' }, changes: 'a=2', operation: 'labeled', overwritten: 'a', patch: { a: '2' } },
  { current: { a: '1' }, changes: 'a-', operation: 'unlabeled', patch: { a: null } },
  { current: { a: '1' }, changes: 'b-', operation: 'not labeled' },
  { current: { a: '1' }, changes: 'a- b=1', operation: 'modified', patch: { a: null, b: '1' } },
  {
    current: {},
    changes: '__proto__=1 constructor-',
    operation: 'labeled',
    patch: Object.fromEntries([['__proto__', '1']]),
  },
]

test('changes of labels give a patch and an operation', () => {
  for (const { current, changes: text, operation, overwritten = '', patch } of cases) {
    const changes = parseLabelChanges(words(text))
    const object = { kind: 'Pod', metadata: { name: 'web-0', labels: { ...current } } }
    const changed = withMetadataChanges(object, { field: 'labels', changes })
    assert.equal(labelOperation(current, changes), operation, text)
    assert.equal(overwrittenKeys(current, changes).join(' '), overwritten, text)
    assert.deepEqual(metadataPatch(object, changed), patch && { metadata: { labels: patch } }, text)
    assert.deepEqual(object.metadata.labels, current, 'the object is not modified')
  }
})

test('the change cause is always overwritten', () => {
  const changes = parseAnnotationChanges(['kubernetes.io/change-cause=new', 'a=2'])
  assert.deepEqual(overwrittenKeys({ 'kubernetes.io/change-cause': 'old', 'a': '1' }, changes), ['a'])
})
