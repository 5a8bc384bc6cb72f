import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { authorizationRules } from './group.ts'

const resourceAttributes = { verb: 'get', resource: 'pods', namespace: 'a' }
const nonResourceAttributes = { verb: 'get', path: '/healthz' }

test('a SubjectAccessReview requires a subject, and resource or non-resource attributes', () => {
  const { check } = underTest(authorizationRules['SubjectAccessReview'])
  check({ spec: { user: 'eve', resourceAttributes } })
  check({ spec: { groups: ['a'], nonResourceAttributes } })
  check(
    { spec: { user: 'eve', resourceAttributes, nonResourceAttributes } },
    'spec.nonResourceAttributes: Invalid value: {"verb":"get","path":"/healthz"}: cannot be specified in combination',
  )
  check(
    {},
    'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes',
    'spec.user: Invalid value: "": at least one of user or group must be specified',
  )
  check(
    { metadata: { name: 'a' }, spec: { user: 'eve', resourceAttributes } },
    'metadata: Invalid value: {"name":"a"}: must be empty',
  )
})

test('a SelfSubjectAccessReview has no subject', () => {
  const { check } = underTest(authorizationRules['SelfSubjectAccessReview'])
  check({ spec: { resourceAttributes } })
  check({ metadata: { managedFields: [] }, spec: {} }, 'spec.resourceAttributes: Invalid value: null')
})

test('a LocalSubjectAccessReview must match its namespace', () => {
  const { check } = underTest(authorizationRules['LocalSubjectAccessReview'])
  check({ metadata: { namespace: 'a' }, spec: { user: 'eve', resourceAttributes } })
  check(
    { metadata: { namespace: 'b', name: 'c' }, spec: { user: 'eve', resourceAttributes } },
    'metadata: Invalid value: {"namespace":"b","name":"c"}: must be empty except for namespace',
    'spec.resourceAttributes.namespace: Invalid value: "a": must match metadata.namespace',
  )
  check(
    { spec: { user: 'eve', nonResourceAttributes } },
    'spec.nonResourceAttributes: Invalid value: {"verb":"get","path":"/healthz"}: disallowed on this kind of request',
  )
})

test('validation of selectors in access reviews', () => {
  const { check } = underTest(authorizationRules['SelfSubjectAccessReview'])
  const field = 'spec.resourceAttributes'
  const selecting = (selectors: object) => ({
    spec: { resourceAttributes: { ...resourceAttributes, ...selectors } },
  })
  check(selecting({ labelSelector: { rawSelector: 'a=b' } }))
  check(selecting({ labelSelector: { requirements: [{ key: 'a', operator: 'Unheard' }] } }))
  check(
    selecting({ fieldSelector: {} }),
    `${field}.fieldSelector.requirements: Required value: when ${field}.fieldSelector is specified, requirements or`,
  )
  check(
    selecting({ fieldSelector: { rawSelector: 'a=b', requirements: [{ operator: 'In' }] } }),
    `${field}.fieldSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements`,
    `${field}.fieldSelector.requirements[0].key: Required value: must be specified`,
    `${field}.fieldSelector.requirements[0].values: Required value: must be specified when \`operator\` is 'In'`,
  )
  check(
    selecting({ labelSelector: { requirements: [{ key: 'a', operator: 'Exists', values: ['-'] }] } }),
    `${field}.labelSelector.requirements[0].values: Forbidden: may not be specified when \`operator\` is 'Exists'`,
    `${field}.labelSelector.requirements[0].values[0]: Invalid value: "-"`,
  )
})

test('SelfSubjectRulesReview has no rules', () => {
  assert.equal(authorizationRules['SelfSubjectRulesReview'], undefined)
})
