import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { runtimeClassRules } from './runtime-class.ts'

const { check, checkUpdate } = underTest(runtimeClassRules)

test('RuntimeClass requires a handler, which is immutable', () => {
  check({ handler: 'gvisor' })
  check({}, 'handler: Required value')
  check({ handler: 'run/c' }, 'handler: Invalid value: "run/c": a lowercase RFC 1123 label must consist of')
  checkUpdate(
    { handler: 'kata' },
    { handler: 'gvisor' },
    'handler: Invalid value: "kata": field is immutable',
  )
})

test('RuntimeClass overhead is validated as a resource list', () => {
  check({ handler: 'a', overhead: { podFixed: { cpu: '250m', memory: '64Mi' } } })
  check({ handler: 'a', overhead: { podFixed: { cpu: '-1' } } }, 'overhead.limits[cpu]: Invalid value: "-1"')
  check(
    { handler: 'a', overhead: { podFixed: { bogus: '1' } } },
    'overhead.limits[bogus]: Invalid value: "bogus": must be a standard resource type or fully qualified',
    'overhead.limits[bogus]: Invalid value: "bogus": must be a standard resource for containers',
  )
})

test('RuntimeClass scheduling validates node selector and tolerations', () => {
  const toleration = { key: 'a', operator: 'Exists' }
  check(
    { handler: 'a', scheduling: { nodeSelector: { 'a b': 'c' } } },
    'scheduling.nodeSelector: Invalid value: "a b"',
  )
  check(
    { handler: 'a', scheduling: { tolerations: [toleration, toleration] } },
    'scheduling.tolerations[1]: Duplicate value: {"key":"a","operator":"Exists"}',
  )
  const nodeSelector = { 'beta.kubernetes.io/os': 'linux' }
  assert.deepEqual(
    runtimeClassRules.warnings?.({ metadata: {}, handler: 'a', scheduling: { nodeSelector } }, undefined),
    ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead'],
  )
})
