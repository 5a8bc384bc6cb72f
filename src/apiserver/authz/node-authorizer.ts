/**
 * The Node authorizer: a kubelet may read the objects that pods on its node reference, and write objects of
 * its node. The NodeRestriction admission plugin checks the content of those writes.
 * https://kubernetes.io/docs/reference/access-authn-authz/node/
 */
import { pods } from '#/api/generated/core/v1-resources.ts'
import { resourceSlices } from '#/api/generated/resource/v1-resources.ts'
import { volumeAttachments } from '#/api/generated/storage/v1-resources.ts'
import { formatGroupResource } from '#/api/group-version.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import type { Resource } from '#/api/resource.ts'
import type { ObjectCache } from '../registry/watch-cache.ts'
import { keyOf } from '../registry/store-keys.ts'
import type { UserInfo } from '../request.ts'
import {
  allowed,
  noOpinion,
  noRules,
  type Attributes,
  type Authorization,
  type Authorizer,
  type ResourceAttributes,
  type UserRules,
} from './authorizer.ts'
import { nodeRules } from './bootstrap-roles.ts'
import { NodeGraph } from './node/node-graph.ts'
import type { ReferencedResource } from './node/pod-references.ts'
import { RuleSet } from './rbac/rule-set.ts'
import { fieldRequirements } from './selector-attributes.ts'

/** The node name of a node user; empty if the name is missing, undefined for other users. */
export function nodeIdentity({ username, groups }: UserInfo): string | undefined {
  if (!username.startsWith(usernamePrefix) || !groups.includes('system:nodes')) return undefined
  return username.slice(usernamePrefix.length)
}

const usernamePrefix = 'system:node:'

export class NodeAuthorizer implements Required<Authorizer> {
  readonly #cache: ObjectCache
  readonly #graph: NodeGraph
  readonly #rules = new RuleSet(nodeRules())

  constructor(cache: ObjectCache) {
    this.#cache = cache
    this.#graph = new NodeGraph(cache)
  }

  authorize(attributes: Attributes): Authorization {
    const { user } = attributes
    const node = nodeIdentity(user)
    if (node === undefined) return noOpinion
    if (node === '') return noOpinionBecause(`unknown node for user ${quote(user.username)}`)
    const decided = attributes.isResource ? this.#decide(node, attributes) : undefined
    return decided ?? (this.#rules.allows(attributes) ? allowed : noOpinion)
  }

  rulesFor(user: UserInfo): UserRules {
    if (nodeIdentity(user) === undefined) return noRules
    return { ...noRules, incomplete: true, errors: ['node authorizer does not support user rule resolution'] }
  }

  /** Undefined for resources that the rules of system:node decide. */
  #decide(node: string, attributes: ResourceAttributes): Authorization | undefined {
    const { resource } = attributes
    switch (formatGroupResource(attributes)) {
      case 'secrets':
      case 'configmaps':
        return this.#decideRead(node, attributes, resource as ReferencedResource)
      case 'persistentvolumeclaims':
        return this.#decideClaim(node, attributes)
      case 'resourceclaims.resource.k8s.io':
        return this.#decideGet(node, attributes, () =>
          this.#graph.isReferencedBy(node, 'resourceclaims', attributes),
        )
      case 'persistentvolumes':
        return this.#decideGet(node, attributes, () => this.#graph.needsVolume(node, attributes.name))
      case 'volumeattachments.storage.k8s.io':
        return this.#decideGet(node, attributes, () => this.#isAttachedTo(node, attributes.name))
      case 'serviceaccounts':
        return this.#decideAccount(node, attributes)
      case 'leases.coordination.k8s.io':
        return decideLease(node, attributes)
      case 'csinodes.storage.k8s.io':
        return decideCsiNode(node, attributes)
      case 'resourceslices.resource.k8s.io':
        return this.#decideSlice(node, attributes)
      case 'nodes':
        return decideNode(node, attributes)
      case 'pods':
        return this.#decidePod(node, attributes)
      case 'podcertificaterequests.certificates.k8s.io':
        return noOpinion
      default:
        return undefined
    }
  }

  #decideRead(node: string, attributes: ResourceAttributes, resource: ReferencedResource): Authorization {
    const { verb, subresource, namespace } = attributes
    if (verb !== 'get' && verb !== 'list' && verb !== 'watch')
      return noOpinionBecause('can only read resources of this type')
    if (subresource !== '') return noOpinionBecause('cannot read subresource')
    if (namespace === '') return noOpinionBecause('can only read namespaced object of this type')
    return related(node, attributes, () => this.#graph.isReferencedBy(node, resource, attributes))
  }

  #decideGet(node: string, attributes: ResourceAttributes, isNeeded: () => boolean): Authorization {
    if (attributes.verb !== 'get') return noOpinionBecause('can only get individual resources of this type')
    if (attributes.subresource !== '') return noOpinionBecause('cannot get subresource')
    return related(node, attributes, isNeeded)
  }

  #decideClaim(node: string, attributes: ResourceAttributes): Authorization {
    const isNeeded = (): boolean => this.#graph.isReferencedBy(node, 'persistentvolumeclaims', attributes)
    if (attributes.subresource !== 'status') return this.#decideGet(node, attributes, isNeeded)
    const { verb } = attributes
    if (verb !== 'update' && verb !== 'patch') return noOpinionBecause('can only get/update/patch this type')
    return related(node, attributes, isNeeded)
  }

  #decideAccount(node: string, attributes: ResourceAttributes): Authorization {
    const { verb, subresource, name } = attributes
    if (verb === 'get' && subresource === '') return this.#decideRead(node, attributes, 'serviceaccounts')
    if (verb !== 'create' || name === '')
      return noOpinionBecause('can only create tokens for individual service accounts')
    if (subresource !== 'token')
      return noOpinionBecause('can only create token subresource of serviceaccount')
    return related(node, attributes, () => this.#graph.isReferencedBy(node, 'serviceaccounts', attributes))
  }

  #decideSlice(node: string, attributes: ResourceAttributes): Authorization {
    const { verb, subresource } = attributes
    if (subresource !== '') return noOpinionBecause('cannot authorize ResourceSlice subresources')
    switch (verb) {
      case 'create':
        return allowed
      case 'get':
      case 'update':
      case 'patch':
      case 'delete':
        return related(node, attributes, () => this.#isSliceOf(node, attributes.name))
      case 'list':
      case 'watch':
      case 'deletecollection':
        if (selectsNode(node, attributes)) return allowed
        return noOpinionBecause(
          'can only list/watch/deletecollection resourceslices with nodeName field selector',
        )
      default:
        return noOpinionBecause(
          'only the following verbs are allowed for a ResourceSlice: ' +
            'get, watch, list, create, update, patch, delete, deletecollection',
        )
    }
  }

  #decidePod(node: string, attributes: ResourceAttributes): Authorization {
    const { verb, subresource, name } = attributes
    const isChange = verb === 'update' || verb === 'patch'
    if ((subresource === 'status' && isChange) || (subresource === 'eviction' && verb === 'create'))
      return allowed
    if (subresource !== '') return noOpinion
    const isOurs = (): boolean => this.#runsOn(node, attributes)
    switch (verb) {
      case 'create':
      case 'delete':
        return allowed
      case 'get':
        return related(node, attributes, isOurs)
      case 'list':
      case 'watch':
        if (selectsNode(node, attributes)) return allowed
        if (name !== '') return related(node, attributes, isOurs)
        return noOpinionBecause('can only list/watch pods with spec.nodeName field selector')
      default:
        return noOpinion
    }
  }

  #runsOn(node: string, { namespace, name }: ResourceAttributes): boolean {
    return this.#get(pods, name, namespace)?.spec?.nodeName === node
  }

  #isAttachedTo(node: string, name: string): boolean {
    return this.#get(volumeAttachments, name)?.spec?.nodeName === node
  }

  #isSliceOf(node: string, name: string): boolean {
    return this.#get(resourceSlices, name)?.spec?.nodeName === node
  }

  #get<T extends KubernetesObject>(
    resource: Resource<T>,
    name: string,
    namespace = '',
  ): Stored<T> | undefined {
    return this.#cache.get(keyOf(resource, namespace, name))?.object as Stored<T> | undefined
  }
}

function noOpinionBecause(reason: string): Authorization {
  return { decision: 'no opinion', reason }
}

function related(node: string, { name }: ResourceAttributes, isNeeded: () => boolean): Authorization {
  if (name === '') return noOpinionBecause('No Object name found')
  return isNeeded()
    ? allowed
    : noOpinionBecause(`no relationship found between node '${node}' and this object`)
}

const ownVerbs: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch', 'delete'])

const leaseNamespace = 'kube-node-lease'

/** Admission checks the name of a lease being created. */
function decideLease(node: string, { verb, namespace, name }: ResourceAttributes): Authorization {
  if (!ownVerbs.has(verb))
    return noOpinionBecause('can only get, create, update, patch, or delete a node lease')
  if (namespace !== leaseNamespace)
    return noOpinionBecause(`can only access leases in the "${leaseNamespace}" system namespace`)
  if (verb === 'create' || name === node) return allowed
  return noOpinionBecause('can only access node lease with the same name as the requesting node')
}

function decideCsiNode(node: string, { verb, subresource, name }: ResourceAttributes): Authorization {
  if (!ownVerbs.has(verb)) return noOpinionBecause('can only get, create, update, patch, or delete a CSINode')
  if (subresource !== '') return noOpinionBecause('cannot authorize CSINode subresources')
  if (verb === 'create' || name === node) return allowed
  return noOpinionBecause('can only access CSINode with the same name as the requesting node')
}

/** Decided by name rather than existence: a kubelet reads its Node before creating it. */
function decideNode(node: string, { verb, subresource, name }: ResourceAttributes): Authorization {
  const isChange = verb === 'update' || verb === 'patch'
  if (subresource === 'status') return isChange ? allowed : noOpinion
  if (subresource !== '') return noOpinion
  if (verb === 'create' || isChange) return allowed
  if (verb !== 'get' && verb !== 'list' && verb !== 'watch') return noOpinion
  if (name === node) return allowed
  if (name === '') return noOpinionBecause(`node '${node}' cannot read all nodes, only its own Node object`)
  return noOpinionBecause(`node '${node}' cannot read '${name}', only its own Node object`)
}

function selectsNode(node: string, { fieldSelector }: ResourceAttributes): boolean {
  return fieldRequirements(fieldSelector).requirements.some(({ key, operator, values }) => {
    return key === 'spec.nodeName' && operator === 'In' && values?.[0] === node
  })
}
