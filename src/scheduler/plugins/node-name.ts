import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { PluginFactory, Refusal } from '../framework.ts'

const refusal: Refusal = { reason: "node(s) didn't match the requested node name", isFinal: true }

/** Refuses all nodes other than `spec.nodeName`. */
export const nodeName: PluginFactory = () => ({
  name: 'NodeName',
  wakeUps: [{ resource: nodes, on: ['add'] }],
  filter: ({ pod }) => {
    const name = pod.spec?.nodeName
    return name ? { test: node => (node.name === name ? undefined : refusal) } : undefined
  },
})
