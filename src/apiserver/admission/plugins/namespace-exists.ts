/**
 * Rejects requests in namespaces that do not exist. Useful only when NamespaceLifecycle is disabled.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#namespaceexists
 */
import { notFound } from '#/api/errors.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import type { AdmissionPlugin } from '../admission-chain.ts'
import { getCachedOrStored } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'

export function namespaceExists(context: PluginContext): AdmissionPlugin {
  return {
    name: 'NamespaceExists',
    handles: ({ resource, operation }) => resource.scope === 'Namespaced' && operation !== 'CONNECT',
    async validate({ namespace }) {
      if (await getCachedOrStored(context, namespaces, { name: namespace })) return
      throw notFound({ group: '', kind: 'namespaces', name: namespace })
    },
  }
}
