/** Decides how the APIService of a group version of this server is kept in the cluster. */
import type { APIService } from '#/api/generated/apiregistration/v1.ts'
import type { GroupVersion } from '#/api/resource.ts'
import { apiServiceName } from './api-services.ts'
import { builtinPriority, customPriority } from './priorities.ts'

/** Tells who keeps an APIService: the server once when it starts, the server at any time, or else its creator. */
export const automanagedLabel = 'kube-aggregator.kubernetes.io/automanaged'

/** Built-in group versions are registered when the server starts, those of custom resources at any time. */
export type Automanaged = 'onstart' | 'true'

export type RegistrationAction = 'create' | 'update' | 'delete' | 'none'

export interface RegistrationState {
  /** Undefined if this server does not serve the group version. */
  readonly desired: APIService | undefined
  readonly current: APIService | undefined
  /** True during the start, before any other change by this server. */
  readonly isStarting: boolean
}

export function planRegistration({ desired, current, isStarting }: RegistrationState): RegistrationAction {
  const wanted = automanagedOf(desired)
  if (!isStarting && wanted === 'onstart') return 'none'
  if (current === undefined) return desired === undefined ? 'none' : 'create'
  const kept = automanagedOf(current)
  if (kept === undefined || (kept === 'onstart' && !isStarting)) return 'none'
  if (desired === undefined) return 'delete'
  return hasSameSpec(current, desired) ? 'none' : 'update'
}

/**
 * The APIService of a group version of this server; undefined if it has none. Built-in group versions that
 * Kubernetes leaves to extension servers, such as metrics.k8s.io, have none, so that one can be installed.
 */
export function localApiService(groupVersion: GroupVersion, isCustom: boolean): APIService | undefined {
  const { group, version } = groupVersion
  const builtin = builtinPriority(groupVersion)
  const priority = builtin ?? (isCustom ? customPriority : undefined)
  if (priority === undefined) return undefined
  const automanaged: Automanaged = builtin ? 'onstart' : 'true'
  return {
    kind: 'APIService',
    apiVersion: 'apiregistration.k8s.io/v1',
    metadata: { name: apiServiceName(groupVersion), labels: { [automanagedLabel]: automanaged } },
    spec: { ...(group !== '' && { group }), version, ...priority },
  }
}

function automanagedOf(apiService: APIService | undefined): Automanaged | undefined {
  const value = apiService?.metadata.labels?.[automanagedLabel]
  return value === 'onstart' || value === 'true' ? value : undefined
}

function hasSameSpec({ spec: left }: APIService, { spec: right }: APIService): boolean {
  const keys = new Set([...Object.keys(left ?? {}), ...Object.keys(right ?? {})]) as Set<keyof typeof left>
  return [...keys].every(key => left?.[key] === right?.[key])
}
