import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultResources } from '#/api/builtin.ts'
import { apiVersionOf } from '#/api/resource.ts'
import { Scheme } from '#/api/scheme.ts'
import type { Operation } from '../admission-chain.ts'
import { matchRules } from './resource-rules.ts'

const scheme = new Scheme(defaultResources())

/**
 * `write` is e.g. `CREATE apps/v1 deployments/scale`; a rule is e.g. `CREATE,UPDATE apps v1 deployments
 * Namespaced`.
 */
function check(write: string, rules: readonly string[], expected: string, matchPolicy = 'Exact'): void {
  const [operation = '', apiVersion = '', path = ''] = write.split(' ')
  const [plural = '', subresource = ''] = path.split('/')
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  const resource = scheme.byResource({ group, version, resource: plural })
  assert.ok(resource, write)
  const matched = matchRules(
    { operation: operation as Operation, resource, subresource },
    { scheme, matchPolicy, rules: rules.map(readRule) },
  )
  const outcome = matched
    ? `${apiVersionOf(matched.resource)} ${apiVersionOf(matched.kind)} ${matched.kind.kind}`
    : 'no'
  assert.equal(outcome, expected, `${write} with ${rules.join(' and ')}`)
}

function readRule(text: string) {
  const [operations = '', groups = '', versions = '', resources = '', scope] = text.split(' ')
  const list = (words: string): readonly string[] =>
    words.split(',').map(word => (word === 'core' ? '' : word))
  return {
    operations: list(operations),
    apiGroups: list(groups),
    apiVersions: list(versions),
    resources: list(resources),
    ...(scope && { scope }),
  }
}

test('rules match operations, groups, versions, resources, subresources and scopes', () => {
  const pod = 'v1 v1 Pod'
  check('CREATE v1 pods', ['CREATE core v1 pods'], pod)
  check('CREATE v1 pods', ['* * * *'], pod)
  check('CREATE v1 pods', ['CREATE * * *', 'UPDATE core v1 pods'], pod)
  check('CREATE v1 pods', [], 'no')
  check('UPDATE v1 pods', ['CREATE,DELETE core v1 pods'], 'no')
  check('DELETE v1 pods', ['CREATE,DELETE core v1 pods'], pod)
  check('CREATE v1 pods', ['CREATE apps v1 pods'], 'no')
  check('CREATE v1 pods', ['CREATE core v2 pods'], 'no')
  check('CREATE v1 pods', ['CREATE core v1 services'], 'no')
  check('UPDATE v1 pods/status', ['* * * *'], 'no')
  check('UPDATE v1 pods/status', ['* * * pods'], 'no')
  check('UPDATE v1 pods/status', ['* * * pods/*'], pod)
  check('UPDATE v1 pods/status', ['* * * */status'], pod)
  check('UPDATE v1 pods/status', ['* * * */*'], pod)
  check('CREATE v1 pods', ['* * * */*'], pod)
  check('CREATE v1 pods', ['* * * pods/*'], pod)
  check('CREATE v1 pods', ['* * * */status'], 'no')
  check('CREATE v1 pods/eviction', ['* * * pods/eviction'], 'v1 policy/v1 Eviction')
  check('UPDATE apps/v1 deployments/scale', ['* apps * */scale'], 'apps/v1 autoscaling/v1 Scale')
  check('CONNECT v1 pods/exec', ['CONNECT core v1 pods/exec'], 'v1 v1 PodExecOptions')
})

test('rules match namespaced resources, cluster-scoped resources or both; Namespace is cluster-scoped', () => {
  const rule = (scope: string): string => `* * * * ${scope}`
  check('CREATE v1 pods', [rule('Namespaced')], 'v1 v1 Pod')
  check('CREATE v1 pods', [rule('Cluster')], 'no')
  check('CREATE v1 nodes', [rule('Cluster')], 'v1 v1 Node')
  check('CREATE v1 nodes', [rule('Namespaced')], 'no')
  check('CREATE v1 nodes', [rule('*')], 'v1 v1 Node')
  check('CREATE v1 namespaces', [rule('Cluster')], 'v1 v1 Namespace')
  check('CREATE v1 namespaces', [rule('Namespaced')], 'no')
})

test('with matchPolicy Equivalent a rule matches other versions of a resource, in rule order', () => {
  const autoscaler = 'horizontalpodautoscalers'
  const first = `* autoscaling v1 ${autoscaler}`
  check(`CREATE autoscaling/v2 ${autoscaler}`, [first], 'no')
  check(
    `CREATE autoscaling/v2 ${autoscaler}`,
    [first],
    'autoscaling/v1 autoscaling/v1 HorizontalPodAutoscaler',
    'Equivalent',
  )
  const second = `* autoscaling v2 ${autoscaler}`
  const exactly = 'autoscaling/v2 autoscaling/v2 HorizontalPodAutoscaler'
  check(`CREATE autoscaling/v2 ${autoscaler}`, [first, second], exactly, 'Equivalent')
  check(
    'CREATE v1 events',
    ['* events.k8s.io v1 events'],
    'events.k8s.io/v1 events.k8s.io/v1 Event',
    'Equivalent',
  )
  check('CREATE v1 pods', ['* apps v1 pods'], 'no', 'Equivalent')
  check(`DELETE autoscaling/v2 ${autoscaler}`, ['CREATE autoscaling v1 *'], 'no', 'Equivalent')
})
