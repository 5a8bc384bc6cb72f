import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { mandatoryFlowSchemas, mandatoryPriorityLevels } from './mandatory.ts'
import { flowcontrolRules } from './group.ts'

const schemas = underTest(flowcontrolRules['FlowSchema'])
const levels = underTest(flowcontrolRules['PriorityLevelConfiguration'])

const subject = { kind: 'Group', group: { name: 'a' } }
const resourceRule = { verbs: ['get'], apiGroups: ['*'], resources: ['*'], namespaces: ['a'] }
const rule = { subjects: [subject], resourceRules: [resourceRule] }

function schema(spec: object, name = 'mine'): object {
  return {
    metadata: { name },
    spec: { priorityLevelConfiguration: { name: 'level' }, rules: [rule], ...spec },
  }
}

function limited(fields: object, name = 'mine'): object {
  const limitResponse = { type: 'Reject' }
  return { metadata: { name }, spec: { type: 'Limited', limited: { limitResponse, ...fields } } }
}

test('a FlowSchema requires a priority level and a matching precedence', () => {
  const { check, withDefaults } = schemas
  assert.deepEqual(withDefaults(schema({})), schema({ matchingPrecedence: 1000 }))
  check(schema({}))
  check(
    schema({ matchingPrecedence: -1 }),
    'spec.matchingPrecedence: Invalid value: -1: must be a positive value',
  )
  check(
    schema({ matchingPrecedence: 10_001 }),
    'spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000',
  )
  check(
    schema({ matchingPrecedence: 1 }),
    "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
  )
  check(
    schema({ distinguisherMethod: {}, priorityLevelConfiguration: {} }),
    'spec.distinguisherMethod.type: Unsupported value: "": supported values: "ByNamespace", "ByUser"',
    'spec.priorityLevelConfiguration.name: Required value: must reference a priority level',
  )
})

test('validation of FlowSchema subjects', () => {
  const { check } = schemas
  const by = (...subjects: readonly object[]) => schema({ rules: [{ ...rule, subjects }] })
  const field = 'spec.rules[0].subjects'
  check(by(), `${field}: Required value: subjects must contain at least one value`)
  check(
    by({}),
    `${field}[0].kind: Unsupported value: "": supported values: "Group", "ServiceAccount", "User"`,
  )
  check(
    by({ kind: 'User' }),
    `${field}[0].user: Required value: user is required when subject kind is 'User'`,
  )
  check(
    by({ kind: 'User', user: {}, group: {} }),
    `${field}[0].user.name: Required value`,
    `${field}[0].group: Forbidden: group is forbidden when subject kind is not 'Group'`,
  )
  check(
    by({ kind: 'ServiceAccount', serviceAccount: { name: '*' } }),
    `${field}[0].serviceAccount.namespace: Required value: must specify namespace for service account`,
  )
})

test('validation of FlowSchema resource rules', () => {
  const { check } = schemas
  const field = 'spec.rules[0]'
  const about = (change: object) => schema({ rules: [{ subjects: [subject], ...change }] })
  check(
    about({}),
    `${field}: Required value: at least one of resourceRules and nonResourceRules has to be non-empty`,
  )
  check(
    about({ resourceRules: [{}] }),
    `${field}.resourceRules[0].verbs: Required value: verbs must contain at least one value`,
    `${field}.resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group`,
    `${field}.resourceRules[0].resources: Required value: resource rules must supply at least one resource`,
    `${field}.resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply`,
  )
  const stars = { verbs: ['*', 'get'], apiGroups: ['*', ''], resources: ['*', 'a'], namespaces: ['*', 'a'] }
  check(
    about({ resourceRules: [stars] }),
    `${field}.resourceRules[0].verbs: Invalid value: ["*","get"]: if '*' is present, must not specify other verbs`,
    `${field}.resourceRules[0].apiGroups: Invalid value: ["*",""]: if '*' is present, must not specify other api`,
    `${field}.resourceRules[0].resources: Invalid value: ["*","a"]: if '*' is present, must not specify other res`,
    `${field}.resourceRules[0].namespaces: Invalid value: ["*","a"]: if '*' is present, must not specify other na`,
  )
  check(
    about({ resourceRules: [{ ...resourceRule, verbs: ['go'], namespaces: ['A'] }] }),
    `${field}.resourceRules[0].verbs: Unsupported value: ["go"]: supported values: "create", "delete"`,
    `${field}.resourceRules[0].namespaces[0]: Invalid value: "A": each member of this list must be '*' or a DNS-`,
  )
})

test('validation of FlowSchema non-resource URLs', () => {
  const { check } = schemas
  const paths = (...nonResourceURLs: readonly string[]) => {
    return schema({
      rules: [{ subjects: [subject], nonResourceRules: [{ verbs: ['get'], nonResourceURLs }] }],
    })
  }
  const field = 'spec.rules[0].nonResourceRules[0].nonResourceURLs'
  check(paths('/', '/healthz/*', '/healthz'))
  check(paths(), `${field}: Required value: nonResourceURLs must contain at least one value`)
  check(
    paths('', 'a', '/a b', '/a//b', '/a*', '/*/*'),
    `${field}[0]: Invalid value: "": must not be empty`,
    `${field}[1]: Invalid value: "a": must start with slash`,
    `${field}[2]: Invalid value: "/a b": must not contain white-space`,
    `${field}[3]: Invalid value: "/a//b": must not contain double slash`,
    `${field}[4]: Invalid value: "/a*": wildcard can only do suffix matching`,
    `${field}[5]: Invalid value: "/*/*": wildcard can only do suffix matching`,
  )
})

test('defaults of PriorityLevelConfiguration', () => {
  const { withDefaults } = levels
  assert.deepEqual(
    withDefaults(limited({ limitResponse: { type: 'Queue', queuing: {} } })),
    limited({
      nominalConcurrencyShares: 30,
      lendablePercent: 0,
      limitResponse: { type: 'Queue', queuing: { handSize: 8, queues: 64, queueLengthLimit: 50 } },
    }),
  )
  assert.deepEqual(withDefaults({ spec: { type: 'Exempt', exempt: {} } }), {
    spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  })
})

test('only the exempt priority level may have type Exempt', () => {
  const { check } = levels
  check(limited({ nominalConcurrencyShares: 0 }))
  check({ metadata: { name: 'mine' }, spec: {} }, 'spec.type: Required value')
  check(
    { metadata: { name: 'mine' }, spec: { type: 'Exempt', limited: {} } },
    "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
    'spec.limited: Forbidden: must be nil if the type is not Limited',
  )
  check(
    { spec: { type: 'Limited', exempt: {} } },
    'spec.exempt: Forbidden: must be nil if the type is Limited',
    'spec.limited: Required value: must not be empty when type is Limited',
  )
  check({ spec: { type: 'x' } }, 'spec.type: Unsupported value: "x": supported values: "Exempt", "Limited"')
  check(
    limited({ nominalConcurrencyShares: -1, lendablePercent: 101, borrowingLimitPercent: -1 }),
    'spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer',
    'spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive',
    'spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer',
  )
})

test('validation of PriorityLevelConfiguration queuing', () => {
  const { check } = levels
  const queue = (queuing: object) => limited({ limitResponse: { type: 'Queue', queuing } })
  const field = 'spec.limited.limitResponse'
  check(limited({ limitResponse: {} }), `${field}.type: Required value`)
  check(
    limited({ limitResponse: { type: 'Reject', queuing: {} } }),
    `${field}.queuing: Forbidden: must be nil if`,
  )
  check(
    limited({ limitResponse: { type: 'Queue' } }),
    `${field}.queuing: Required value: must not be empty if`,
  )
  check(
    queue({ queues: -1, queueLengthLimit: -1, handSize: -1 }),
    `${field}.queuing.queueLengthLimit: Invalid value: -1: must be positive`,
    `${field}.queuing.queues: Invalid value: -1: must be positive`,
    `${field}.queuing.handSize: Invalid value: -1: must be positive`,
  )
  check(
    queue({ queues: 4 }),
    `${field}.queuing.handSize: Invalid value: 8: should not be greater than queues (4)`,
  )
  check(
    queue({ handSize: 11 }),
    `${field}.queuing.handSize: Invalid value: 11: required entropy bits of deckSize 64 and handSize 11 should not be`,
  )
  check(
    queue({ queues: 10_000_001, handSize: 1 }),
    `${field}.queuing.queues: Invalid value: 10000001: must not be greater than 10000000`,
  )
})

test('specs of mandatory flow control objects are fixed', () => {
  for (const [name, spec] of mandatoryFlowSchemas) {
    schemas.check({ metadata: { name }, spec })
    schemas.check({ metadata: { name }, spec: { ...spec, rules: [rule] } }, 'spec: Invalid value: ')
  }
  for (const [name, spec] of mandatoryPriorityLevels) levels.check({ metadata: { name }, spec })
  levels.check({ metadata: { name: 'exempt' }, spec: { type: 'Exempt', exempt: { lendablePercent: 50 } } })
  levels.check(limited({}, 'catch-all'), 'spec: Invalid value: ')
  const annotations = { 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares': '' }
  levels.check(
    { ...limited({}), metadata: { annotations } },
    "metadata.annotations: Forbidden: annotation 'flowc",
  )
})

test('duplicate condition types of flow control objects are rejected', () => {
  for (const { checkStatus } of [schemas, levels]) {
    checkStatus(
      { status: { conditions: [{ type: 'a' }, { type: 'a' }, {}] } },
      {},
      'status.conditions[1].type: Duplicate value: "a"',
      'status.conditions[2].type: Required value',
    )
  }
})
