import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterRole, PolicyRule, RoleBinding, Subject } from '#/api/generated/rbac/v1.ts'
import { planBinding, planRole } from './plan-reconciliation.ts'

const get: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
const list: PolicyRule = { verbs: ['list'], apiGroups: [''], resources: ['pods'] }

function role(rules: readonly PolicyRule[], rest: Partial<ClusterRole> = {}): ClusterRole {
  return { kind: 'ClusterRole', metadata: { name: 'reader' }, rules, ...rest }
}

test('a role gets missing rules, and loses others only on demand', () => {
  const check = (
    removeExtraPermissions: boolean,
    existing: readonly PolicyRule[],
    rules: readonly PolicyRule[],
  ) => {
    const plan = planRole({ existing: role(existing), expected: role([get]), removeExtraPermissions })
    assert.deepEqual(plan.object.rules, rules)
    assert.equal(
      plan.operation,
      rules.length === existing.length && existing.includes(get) ? 'none' : 'update',
    )
  }
  check(false, [get], [get])
  check(false, [list], [list, get])
  check(false, [get, list], [get, list])
  check(true, [get], [get])
  check(true, [list], [get])
  check(true, [get, list], [get])
})

test('a role that does not exist is created, and one that opted out is protected', () => {
  const created = planRole({ existing: undefined, expected: role([get]), removeExtraPermissions: false })
  assert.equal(created.operation, 'create')
  assert.deepEqual(created.missingRules, [get])
  const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' }
  const existing = role([], { metadata: { name: 'reader', annotations } })
  assert.equal(planRole({ existing, expected: role([get]), removeExtraPermissions: false }).isProtected, true)
})

test('labels are added, and values that are there are kept', () => {
  const labeled = (labels: Record<string, string>) => role([get], { metadata: { name: 'reader', labels } })
  const check = (existing: Record<string, string>, labels: Record<string, string>, operation: string) => {
    const expected = labeled({ a: '1' })
    const plan = planRole({ existing: labeled(existing), expected, removeExtraPermissions: true })
    assert.deepEqual(plan.object.metadata.labels, labels)
    assert.equal(plan.operation, operation)
  }
  check({}, { a: '1' }, 'update')
  check({ a: '2' }, { a: '2' }, 'none')
  check({ b: '3' }, { a: '1', b: '3' }, 'update')
})

test('the selectors of aggregated roles are reconciled like rules', () => {
  const aggregated = (...values: string[]) =>
    role([], {
      aggregationRule: { clusterRoleSelectors: values.map(value => ({ matchLabels: { to: value } })) },
    })
  const check = (
    existing: ClusterRole,
    removeExtraPermissions: boolean,
    expected: ClusterRole,
    result: ClusterRole,
  ) => {
    const plan = planRole({ existing, expected, removeExtraPermissions })
    assert.deepEqual((plan.object as ClusterRole).aggregationRule, result.aggregationRule)
  }
  check(aggregated('a'), false, aggregated('b'), aggregated('a', 'b'))
  check(aggregated('a', 'b'), false, aggregated('b'), aggregated('a', 'b'))
  check(aggregated('a', 'b'), true, aggregated('b'), aggregated('b'))
  check(aggregated('a'), false, role([]), role([]))
  check(role([]), false, aggregated('a'), aggregated('a'))
})

test('a binding gets missing subjects, and is recreated for another role', () => {
  const user = (name: string): Subject => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name })
  const binding = (subjects: readonly Subject[], to = 'reader'): RoleBinding => ({
    metadata: { name: 'x' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: to },
    subjects,
  })
  const [jane, joe] = [user('jane'), user('joe')]
  const plan = (existing: RoleBinding | undefined, removeExtraSubjects = false) =>
    planBinding({ existing, expected: binding([joe, joe]), removeExtraSubjects })
  assert.equal(plan(undefined).operation, 'create')
  assert.equal(plan(binding([joe])).operation, 'none')
  assert.deepEqual(plan(binding([jane])).object.subjects, [jane, joe])
  assert.deepEqual(plan(binding([jane])).missingSubjects, [joe])
  assert.deepEqual(plan(binding([jane, joe]), true).extraSubjects, [jane])
  assert.equal(plan(binding([joe], 'writer')).operation, 'recreate')
})
