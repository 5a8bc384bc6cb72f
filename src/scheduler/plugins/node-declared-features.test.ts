import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { nodeOf, podOf } from '../test-cluster.ts'
import { nodeDeclaredFeatures } from './node-declared-features.ts'
import { isRequeuedBy, pluginOf, snapshotOf, statusesOf } from './test-plugin.ts'

const plugin = pluginOf(nodeDeclaredFeatures)

const restartAll = 'RestartAllContainersOnContainerExits'
const userNamespaces = 'UserNamespacesHostNetworkSupport'

function nodeWith(name: string, declaredFeatures?: readonly string[]): Node {
  const node = nodeOf(name)
  return { ...node, status: { ...node.status, ...(declaredFeatures && { declaredFeatures }) } }
}

function ruleOf(action: string): PodSpec['containers'][number] {
  const restartPolicyRules = [{ action, exitCodes: { operator: 'In', values: [3] } }]
  return { name: 'it', image: 'it', restartPolicy: 'Never', restartPolicyRules }
}

const plain = podOf('p')
const restarting = podOf('p', { containers: [ruleOf('RestartAllContainers')] })

const cases: readonly (readonly [name: string, pod: Pod, declared: readonly string[], fits: boolean])[] = [
  ['no required feature', plain, [], true],
  ['a rule that restarts one container', podOf('p', { containers: [ruleOf('Restart')] }), [], true],
  ['a rule that restarts all containers', restarting, [], false],
  ['a rule that restarts all containers', restarting, [userNamespaces], false],
  ['a rule that restarts all containers', restarting, ['Other', restartAll], true],
  [
    'an init container with such a rule',
    podOf('p', { initContainers: [ruleOf('RestartAllContainers')] }),
    [],
    false,
  ],
  ['the network and the users of the host', podOf('p', { hostNetwork: true }), [], true],
  ['users of its own', podOf('p', { hostUsers: false }), [], true],
  [
    'users of its own in the network of the host',
    podOf('p', { hostNetwork: true, hostUsers: false }),
    [],
    false,
  ],
  [
    'users of its own in the network of the host',
    podOf('p', { hostNetwork: true, hostUsers: false }),
    [userNamespaces],
    true,
  ],
]

for (const [name, pod, declared, fits] of cases) {
  test(`a pod with ${name} on a node that declares ${declared.join(' ') || 'nothing'}`, () => {
    const statuses = statusesOf(plugin, pod, snapshotOf([nodeWith('n', declared)]))
    assert.deepEqual(statuses, { n: fits ? '' : "node(s) didn't match Pod's required features!" })
  })
}

test('a pod is requeued when declared or required features change', () => {
  const declaring = nodeWith('n', [restartAll])
  const node = (before: Node | undefined, after: Node): boolean => {
    return isRequeuedBy(plugin, restarting, 'nodes', { ...(before && { before }), after })
  }
  assert.equal(node(undefined, declaring), true)
  assert.equal(node(nodeWith('n'), declaring), true)
  assert.equal(node(declaring, nodeWith('n', [restartAll])), false)
  const other = { ...plain, metadata: { ...plain.metadata, uid: 'other' } }
  const pod = (before: Pod, after: Pod): boolean => {
    return isRequeuedBy(plugin, restarting, 'pods', { before, after })
  }
  assert.equal(pod(restarting, plain), true)
  assert.equal(pod(restarting, restarting), false)
  assert.equal(pod(restarting, other), false)
})
