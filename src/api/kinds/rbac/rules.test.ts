import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { rbacRules } from './group.ts'

const apiGroup = 'rbac.authorization.k8s.io'
const read = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }

test('a Role rule requires verbs, API groups and resources', () => {
  const { check } = underTest(rbacRules['Role'])
  check({})
  check({ rules: [read] })
  check(
    { rules: [{ ...read, verbs: [] }] },
    'rules[0].verbs: Required value: verbs must contain at least one value',
  )
  check(
    { rules: [read, {}] },
    'rules[1].verbs: Required value',
    'rules[1].apiGroups: Required value: resource rules must supply at least one api group',
    'rules[1].resources: Required value: resource rules must supply at least one resource',
  )
  check(
    { rules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }] },
    'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules cannot apply to non-resource URLs',
  )
})

test('a ClusterRole rule has resources or nonResourceURLs, not both', () => {
  const { check } = underTest(rbacRules['ClusterRole'])
  check({ rules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }] })
  check(
    { rules: [{ ...read, nonResourceURLs: ['*'] }] },
    'rules[0].nonResourceURLs: Invalid value: ["*"]: rules cannot apply to both regular resources and ',
  )
  check({ aggregationRule: {} }, 'aggregationRule.clusterRoleSelectors: Required value: at least one')
  check(
    { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: '-' } }] } },
    'aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid value: "-"',
    'aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.',
  )
  check(
    { aggregationRule: { clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: 'In' }] }] } },
    'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Required value',
    'aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.',
  )
})

test('a RoleBinding requires a role reference and valid subjects', () => {
  const { check, withDefaults } = underTest(rbacRules['RoleBinding'])
  const roleRef = { kind: 'Role', name: 'reader' }
  const [eve, account] = [
    { kind: 'User', name: 'eve' },
    { kind: 'ServiceAccount', name: 'a' },
  ]
  assert.deepEqual(withDefaults({ roleRef, subjects: [eve, account] }), {
    roleRef: { ...roleRef, apiGroup },
    subjects: [{ ...eve, apiGroup }, account],
  })
  check({ roleRef })
  check(
    { roleRef: { ...roleRef, apiGroup: 'x', kind: 'Pod', name: 'a/b' } },
    `roleRef.apiGroup: Unsupported value: "x": supported values: "${apiGroup}"`,
    'roleRef.kind: Unsupported value: "Pod": supported values: "Role", "ClusterRole"',
    'roleRef.name: Invalid value: "a/b": may not contain \'/\'',
  )
  check({}, 'roleRef.kind: Unsupported value: ""', 'roleRef.name: Required value')
  check(
    {
      roleRef,
      subjects: [{ kind: 'User', apiGroup: 'x' }, { kind: 'ServiceAccount', name: 'A', apiGroup }, {}],
    },
    'subjects[0].name: Required value',
    'subjects[0].apiGroup: Unsupported value: "x"',
    'subjects[1].name: Invalid value: "A"',
    `subjects[1].apiGroup: Unsupported value: "${apiGroup}": supported values: ""`,
    'subjects[2].name: Required value',
    'subjects[2].kind: Unsupported value: "": supported values: "ServiceAccount", "User", "Group"',
  )
})

test('a ClusterRoleBinding refers to a ClusterRole, and to service accounts with a namespace', () => {
  const { check } = underTest(rbacRules['ClusterRoleBinding'])
  const account = { kind: 'ServiceAccount', name: 'a' }
  check({ roleRef: { kind: 'ClusterRole', name: 'x' }, subjects: [{ ...account, namespace: 'b' }] })
  check(
    { roleRef: { kind: 'Role', name: 'x' }, subjects: [account] },
    'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    'subjects[0].namespace: Required value',
  )
})

test('roleRef of a binding is immutable', () => {
  for (const kind of ['RoleBinding', 'ClusterRoleBinding']) {
    const { checkUpdate } = underTest(rbacRules[kind])
    const old = { roleRef: { kind: 'ClusterRole', name: 'view' } }
    checkUpdate({ ...old, subjects: [{ kind: 'User', name: 'eve' }] }, old)
    checkUpdate(
      { roleRef: { kind: 'ClusterRole', name: 'admin' } },
      old,
      `roleRef: Invalid value: {"apiGroup":"${apiGroup}","kind":"ClusterRole","name":"admin"}: cannot change roleRef`,
    )
  }
})
