import type { Binding } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { PluginFactory } from '../framework.ts'

/** Posts a Binding with the uid of the pod as precondition. */
export const defaultBinder: PluginFactory = () => ({
  name: 'DefaultBinder',
  bind: async ({ pod, namespace, uid }, node, { client, signal }) => {
    const name = pod.metadata.name
    const binding: Binding = { metadata: { namespace, name, uid }, target: { kind: 'Node', name: node } }
    await client.createSubresource(pods, { namespace, name, subresource: 'binding' }, binding, { signal })
  },
})
