import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { PluginFactory, Unschedulable } from '../framework.ts'

const unschedulable: Unschedulable = {
  reason: "node(s) didn't match the requested node name",
  isUnresolvable: true,
}

/** Filters out all nodes other than `spec.nodeName`. */
export const nodeName: PluginFactory = () => ({
  name: 'NodeName',
  eventsToRegister: [{ resource: nodes, on: ['add'] }],
  preFilter: ({ pod }) => {
    const name = pod.spec?.nodeName
    return name ? { filter: node => (node.name === name ? undefined : unschedulable) } : undefined
  },
})
