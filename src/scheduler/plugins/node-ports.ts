import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { podInfoOf, type HostPort } from '../pod-info.ts'
import { type PluginFactory, type Refusal, wakeUp } from '../framework.ts'

const refusal: Refusal = { reason: "node(s) didn't have free ports for the requested pod ports" }

/** Refuses nodes with a host port conflict. */
export const nodePorts: PluginFactory = () => ({
  name: 'NodePorts',
  wakeUps: [
    { resource: nodes, on: ['add'] },
    wakeUp({
      resource: pods,
      on: ['delete'],
      isHelpful: (pod, { before }) =>
        before !== undefined && areInConflict(podInfoOf(pod).hostPorts, podInfoOf(before).hostPorts),
    }),
  ],
  filter: ({ hostPorts }) => {
    if (hostPorts.length === 0) return undefined
    return {
      test: ({ podsWithPorts }) =>
        podsWithPorts.some(other => areInConflict(hostPorts, other.hostPorts)) ? refusal : undefined,
    }
  },
})

function areInConflict(left: readonly HostPort[], right: readonly HostPort[]): boolean {
  return left.some(port => right.some(other => isSame(port, other)))
}

function isSame(left: HostPort, right: HostPort): boolean {
  if (left.port !== right.port || left.protocol !== right.protocol) return false
  return left.address === right.address || left.address === all || right.address === all
}

const all = '0.0.0.0'
