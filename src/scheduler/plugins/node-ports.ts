import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { podInfoOf, type HostPort } from '../pod-info.ts'
import { type PluginFactory, type Unschedulable, clusterEventWithHint } from '../framework.ts'

const unschedulable: Unschedulable = { reason: "node(s) didn't have free ports for the requested pod ports" }

/** Filters out nodes with a host port conflict. */
export const nodePorts: PluginFactory = () => ({
  name: 'NodePorts',
  eventsToRegister: [
    { resource: nodes, on: ['add'] },
    clusterEventWithHint({
      resource: pods,
      on: ['delete'],
      queueingHint: (pod, { before }) =>
        before !== undefined && areInConflict(podInfoOf(pod).hostPorts, podInfoOf(before).hostPorts),
    }),
  ],
  preFilter: ({ hostPorts }) => {
    if (hostPorts.length === 0) return undefined
    return {
      filter: ({ podsWithPorts }) =>
        podsWithPorts.some(other => areInConflict(hostPorts, other.hostPorts)) ? unschedulable : undefined,
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
