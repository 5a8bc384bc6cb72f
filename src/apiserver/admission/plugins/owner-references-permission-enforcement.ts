/**
 * Requires permission to delete an object when its owner references change, and permission to update the
 * owner's `finalizers` subresource when blockOwnerDeletion is set.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement
 */
import { parseGroupVersion } from '#/api/group-version.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { KubernetesObject, OwnerReference } from '#/api/metadata.ts'
import type { Attributes, Authorization } from '../../authz/authorizer.ts'
import {
  matchesResource,
  admissionForbidden,
  type AdmissionPlugin,
  type AdmissionAttributes,
} from '../admission-chain.ts'
import type { PluginContext } from '../plugin-context.ts'

export function ownerReferencesPermissionEnforcement({ authorizer, scheme }: PluginContext): AdmissionPlugin {
  const ask = async (attributes: Attributes): Promise<Authorization> => authorizer.authorize(attributes)
  const checkOwner = async (request: AdmissionAttributes, owner: Partial<OwnerReference>): Promise<void> => {
    const { apiVersion = '', kind = '', name = '' } = owner
    const { group = '', version = '' } = parseGroupVersion(apiVersion) ?? {}
    const resource = scheme.byKind({ group, version, kind })
    if (resource === undefined) {
      throw admissionForbidden(
        request,
        'cannot set blockOwnerDeletion in this case because cannot find RESTMapping for ' +
          `APIVersion ${apiVersion} Kind ${kind}: no matches for kind "${kind}" in version "${apiVersion}"`,
      )
    }
    const { decision, reason, error } = await ask({
      user: request.user,
      isResource: true,
      verb: 'update',
      group,
      version,
      resource: resource.plural,
      subresource: 'finalizers',
      name,
      namespace: resource.scope === 'Namespaced' ? request.namespace : '',
    })
    if (decision === 'allow') return
    throw admissionForbidden(
      request,
      'cannot set blockOwnerDeletion if an ownerReference refers to a resource ' +
        `you can't set finalizers on: ${reason}, ${error ?? '<nil>'}`,
    )
  }
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    // A status update cannot change the owner references of a pod.
    handles: target =>
      (target.operation === 'CREATE' || target.operation === 'UPDATE') &&
      !matchesResource(target, 'pods', ['status']),
    async validate(request) {
      const { object, oldObject } = request
      const owners = ownersOf(object)
      if (equalJson(owners, ownersOf(oldObject))) return
      if (oldObject !== undefined) {
        const { decision, reason, error } = await ask(deletionOf(request))
        if (decision !== 'allow') {
          throw admissionForbidden(
            request,
            `cannot set an ownerRef on a resource you can't delete: ${reason}, ${error ?? '<nil>'}`,
          )
        }
      }
      const blocking = newlyBlocking(owners, ownersOf(oldObject))
      if (blocking.length === 0 || (await ask(finalizingAnything(request))).decision === 'allow') return
      for (const owner of blocking) await checkOwner(request, owner)
    },
  }
}

function ownersOf(object: KubernetesObject | undefined): readonly OwnerReference[] {
  return object?.metadata.ownerReferences ?? []
}

function newlyBlocking(
  owners: readonly OwnerReference[],
  oldOwners: readonly OwnerReference[],
): readonly OwnerReference[] {
  const blocked = new Set(
    oldOwners.filter(owner => owner.blockOwnerDeletion === true).map(owner => owner.uid),
  )
  return owners.filter(owner => owner.blockOwnerDeletion === true && !blocked.has(owner.uid))
}

function deletionOf({ user, resource, subresource, namespace, name }: AdmissionAttributes): Attributes {
  const { group, version, plural } = resource
  return {
    user,
    isResource: true,
    verb: 'delete',
    group,
    version,
    resource: plural,
    subresource,
    namespace,
    name,
  }
}

/** Permission to set finalizers on every resource makes the check per owner unnecessary. */
function finalizingAnything({ user }: AdmissionAttributes): Attributes {
  return {
    user,
    isResource: true,
    verb: 'update',
    group: '*',
    version: '*',
    resource: '*',
    subresource: 'finalizers',
    namespace: '',
    name: '*',
  }
}
