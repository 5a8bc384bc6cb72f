import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { nodeOf, podOf } from '../test-cluster.ts'
import { nodePorts } from './node-ports.ts'
import { isRequeuedBy, pluginOf, statusesOf, snapshotOf } from './test-plugin.ts'

const plugin = pluginOf(nodePorts)
const unschedulable = "node(s) didn't have free ports for the requested pod ports"

/** `TCP/80@127.0.0.1`, `UDP/53`, `80` are ports; `+` marks a sidecar container, `-` an init container. */
function podWith(text: string, node = ''): Pod {
  const containerOf = (words: string, name: string): Container => ({
    name,
    ports: words
      .split(' ')
      .filter(word => word !== '')
      .map(word => {
        const { protocol, port, address } =
          /^(?:(?<protocol>\w+)\/)?(?<port>\d+)(?:@(?<address>.*))?$/.exec(word)?.groups ?? {}
        return {
          containerPort: 1,
          hostPort: Number(port),
          ...(protocol && { protocol }),
          ...(address && { hostIP: address }),
        }
      }),
  })
  const [own = '', ...others] = `=${text}`.split(/(?=[+-])/)
  return podOf('p', {
    uid: `${node}${text}`,
    containers: [containerOf(own.slice(1), 'own')],
    initContainers: others.map((words, index) => ({
      ...containerOf(words.slice(1), `other-${index}`),
      ...(words.startsWith('+') && { restartPolicy: 'Always' }),
    })),
    ...(node && { nodeName: node }),
  })
}

const cases: readonly (readonly [wanted: string, taken: string, fits: boolean])[] = [
  ['', '80', true],
  ['80', '', true],
  ['80', '80', false],
  ['80', '8080', true],
  ['0', '0', true],
  ['TCP/80', 'UDP/80', true],
  ['80', 'TCP/80', false],
  ['UDP/80', 'UDP/80', false],
  ['80@10.0.0.1', '80@10.0.0.2', true],
  ['80@10.0.0.1', '80@10.0.0.1', false],
  ['80@10.0.0.1', '80', false],
  ['80', '80@10.0.0.1', false],
  ['80@0.0.0.0', '80@10.0.0.1', false],
  ['80@10.0.0.1', 'UDP/80', true],
  ['80 443', '443', false],
  ['80', '1 2 80', false],
  ['80', '+80', false],
  ['+80', '80', false],
  // Init containers have ended when the other containers run.
  ['-80', '80', true],
]

for (const [wanted, taken, fits] of cases) {
  test(`a pod with ports ${wanted || 'none'} on a node with ports ${taken || 'none'}`, () => {
    const snapshot = snapshotOf([nodeOf('n')], taken === '' ? [] : [podWith(taken, 'n')])
    assert.deepEqual(statusesOf(plugin, podWith(wanted), snapshot), { n: fits ? '' : unschedulable })
  })
}

test('NodePorts: added nodes and deleted pods with conflicting ports requeue a pod', () => {
  const pod = podWith('80')
  assert.ok(isRequeuedBy(plugin, pod, 'nodes', { after: nodeOf('n') }))
  assert.ok(!isRequeuedBy(plugin, pod, 'nodes', { before: nodeOf('n'), after: nodeOf('n', { cpu: '64' }) }))
  assert.ok(isRequeuedBy(plugin, pod, 'pods', { before: podWith('80', 'n') }))
  assert.ok(!isRequeuedBy(plugin, pod, 'pods', { before: podWith('81', 'n') }))
  assert.ok(!isRequeuedBy(plugin, pod, 'pods', { before: podWith('', 'n') }))
})
