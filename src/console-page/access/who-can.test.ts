import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ruleAllows, whoCan, type AccessQuestion } from './who-can.ts'

const apiGroup = 'rbac.authorization.k8s.io'

function subject(text: string): { kind: string; name: string; namespace?: string } {
  const [kind = '', name = '', namespace] = text.split(' ')
  return { kind, name, ...(namespace && { namespace }) }
}

function binding(name: string, role: string, subjects: readonly string[], namespace?: string) {
  const [kind = '', roleName = ''] = role.split(' ')
  return {
    metadata: { name, ...(namespace && { namespace }) },
    roleRef: { apiGroup, kind, name: roleName },
    subjects: subjects.map(subject),
  }
}

const rule = (verbs: string, apiGroups: string, resources: string, resourceNames?: string) => ({
  verbs: verbs.split(','),
  apiGroups: apiGroups.split(','),
  resources: resources.split(','),
  ...(resourceNames && { resourceNames: resourceNames.split(',') }),
})

const objects = {
  clusterRoles: [
    { metadata: { name: 'admin' }, rules: [rule('*', '*', '*')] },
    { metadata: { name: 'view' }, rules: [rule('get,list,watch', '', 'pods,pods/log')] },
    { metadata: { name: 'aggregated' }, rules: null as unknown as [] },
  ],
  roles: [
    { metadata: { name: 'one-secret', namespace: 'shop' }, rules: [rule('get', '', 'secrets', 'key')] },
  ],
  clusterRoleBindings: [
    binding('admins', 'ClusterRole admin', ['Group system:masters']),
    binding('none', 'ClusterRole missing', ['User eve']),
    binding('empty', 'ClusterRole aggregated', ['User eve']),
  ],
  roleBindings: [
    binding('viewers', 'ClusterRole view', ['User ann', 'ServiceAccount robot ops'], 'shop'),
    binding('viewers', 'ClusterRole view', ['User bob'], 'other'),
    binding('key', 'Role one-secret', ['User ann'], 'shop'),
    binding('key', 'Role one-secret', ['User bob'], 'other'),
  ],
}

function check(line: string, expected: readonly string[]): void {
  const [verb = '', resource = '', namespace = '', name = ''] = line.split(' ')
  const grants = whoCan({ verb, group: '', resource, namespace, name }, objects)
  assert.deepEqual(
    grants.map(
      ({ subject: { kind, name }, binding }) => `${kind} ${name} by ${binding.kind} ${binding.name}`,
    ),
    expected,
    line,
  )
}

test('whoCan names the subjects of all bindings whose role permits the request', () => {
  const admins = 'Group system:masters by ClusterRoleBinding admins'
  check('list pods shop', [
    admins,
    'ServiceAccount robot by RoleBinding viewers',
    'User ann by RoleBinding viewers',
  ])
  check('list pods other', [admins, 'User bob by RoleBinding viewers'])
  check('list pods', [admins])
  check('delete pods shop', [admins])
  check('get secrets shop key', [admins, 'User ann by RoleBinding key'])
  check('get secrets shop', [admins])
  check('get secrets other key', [admins])
})

test('ruleAllows matches verbs, groups, resources with subresources, and names', () => {
  const allows = (policy: ReturnType<typeof rule>, question: Partial<AccessQuestion>): boolean =>
    ruleAllows(policy, { verb: 'get', group: '', resource: 'pods', name: '', namespace: '', ...question })
  assert.equal(allows(rule('get', '', 'pods'), {}), true)
  assert.equal(allows(rule('get', '', 'pods'), { resource: 'pods/log' }), false)
  assert.equal(allows(rule('get', '', '*'), { resource: 'pods/log' }), true)
  assert.equal(
    allows(rule('update', 'apps', '*/scale'), { verb: 'update', group: 'apps', resource: 'a/scale' }),
    true,
  )
  assert.equal(allows(rule('get', 'apps', '*'), {}), false)
  assert.equal(allows({ verbs: ['get'], apiGroups: [], resources: [] }, {}), false)
})
