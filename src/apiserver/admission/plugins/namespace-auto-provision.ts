/**
 * Creates a missing namespace when an object is created in it.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#namespaceautoprovision
 */
import { isApiError } from '#/api/errors.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { systemWriteRequest } from '../../registry/system-write-request.ts'
import { createObject } from '../../registry/create-object.ts'
import {
  noAdmission,
  type AdmissionPlugin,
  type AdmissionAttributes,
  type AdmittedObject,
} from '../admission-chain.ts'
import { getCached } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'

export function namespaceAutoProvision(context: PluginContext): AdmissionPlugin {
  const provide = async ({ namespace, object }: AdmissionAttributes): Promise<AdmittedObject> => {
    const resource = context.scheme.byKind({ group: '', version: 'v1', kind: 'Namespace' })
    const made: KubernetesObject = { kind: 'Namespace', apiVersion: 'v1', metadata: { name: namespace } }
    try {
      // Created with the API server's identity, not the user's.
      if (resource)
        await createObject(
          { ...context, admission: noAdmission },
          { ...systemWriteRequest(resource, namespace), ignoresQuota: false },
          made,
        )
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error
    }
    return object
  }
  return {
    name: 'NamespaceAutoProvision',
    handles: ({ resource, operation }) => resource.scope === 'Namespaced' && operation === 'CREATE',
    mutate(request) {
      if (request.dryRun || getCached(context, namespaces, { name: request.namespace })) return request.object
      return provide(request)
    },
  }
}
