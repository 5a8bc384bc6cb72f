/**
 * Rejects creation of objects in missing or terminating namespaces, and deletion of system namespaces.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#namespacelifecycle
 */
import { forbidden, notFound } from '#/api/errors.ts'
import type { Namespace } from '#/api/generated/core/v1.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import {
  matchesResource,
  admissionForbidden,
  type AdmissionPlugin,
  type AdmissionAttributes,
  type AdmissionTarget,
  type AdmittedObject,
} from '../admission-chain.ts'
import { getCached, getStored } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'

export function namespaceLifecycle(context: PluginContext): AdmissionPlugin {
  const deletions = new RecentDeletions()
  const askStore = async (request: AdmissionAttributes): Promise<AdmittedObject> =>
    admitInto(request, await getStored(context, namespaces, { name: request.namespace }))
  return {
    name: 'NamespaceLifecycle',
    handles: target => isDeletion(target) || isContent(target),
    mutate(request) {
      if (request.operation === 'DELETE') return request.object
      const known = getCached(context, namespaces, { name: request.namespace })
      const mayBeOutdated =
        known === undefined ||
        (!isEnding(known) && deletions.has(request.namespace, context.platform.clock.monotonicMs()))
      return mayBeOutdated ? askStore(request) : admitInto(request, known)
    },
    validate({ operation, name }) {
      if (operation !== 'DELETE') return
      if (immortal.has(name)) {
        throw forbidden({ group: '', kind: 'namespaces', name }, 'this namespace may not be deleted')
      }
      deletions.add(name, context.platform.clock.monotonicMs())
    },
  }
}

const immortal: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public'])

function isDeletion(target: AdmissionTarget): boolean {
  return target.operation === 'DELETE' && matchesResource(target, 'namespaces')
}

function isContent(target: AdmissionTarget): boolean {
  const { operation, resource } = target
  return (
    (operation === 'CREATE' || operation === 'UPDATE') &&
    resource.scope === 'Namespaced' &&
    !matchesResource(target, 'localsubjectaccessreviews.authorization.k8s.io')
  )
}

function admitInto(request: AdmissionAttributes, found: Namespace | undefined): AdmittedObject {
  const { namespace, operation, object } = request
  if (found === undefined) throw notFound({ group: '', kind: 'namespaces', name: namespace })
  if (operation !== 'CREATE' || !isEnding(found)) return object
  throw admissionForbidden(
    request,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  )
}

function isEnding({ status }: Namespace): boolean {
  return status?.phase === 'Terminating'
}

/** Recently deleted namespaces, which the cache may not yet show as terminating. */
class RecentDeletions {
  readonly #atMs = new Map<string, number>()

  add(name: string, nowMs: number): void {
    this.#atMs.delete(name)
    this.#atMs.set(name, nowMs)
    if (this.#atMs.size > deletionsMax) this.#atMs.delete(this.#atMs.keys().next().value!)
  }

  has(name: string, nowMs: number): boolean {
    const atMs = this.#atMs.get(name)
    if (atMs === undefined) return false
    if (nowMs - atMs < deletionMs) return true
    this.#atMs.delete(name)
    return false
  }
}

/**
 * Maximum number of remembered deletions; past it the oldest is evicted and the cache is trusted again for
 * that namespace.
 */
const deletionsMax = 100
const deletionMs = 30_000
