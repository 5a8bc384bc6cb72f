import { namespaces, pods, services } from '#/api/generated/core/v1-resources.ts'
import type { Pod, Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { formatIp, parseIpLeniently } from '#/api/net/ip.ts'
import type { Informer } from '#/client/informer.ts'
import type { Informers } from '#/client/informers.ts'
import type { DnsState } from '../records.ts'

export const serviceNameLabel = 'kubernetes.io/service-name'

type State = Pick<DnsState, 'hasNamespace' | 'service' | 'slicesOf' | 'servicesAt' | 'slicesAt' | 'hasPodAt'>

/** The objects of the cluster that names are made of, as last seen; all lookups use indexes. */
export interface ClusterState extends State {
  /** True when all objects but pods are known. */
  readonly hasSynced: boolean
  /** Pods are watched only for verified names of pods. */
  watchPods(): void
}

export function clusterStateOf(informers: Informers, onChange: () => void): ClusterState {
  const allServices = informers.of(services)
  const allNamespaces = informers.of(namespaces)
  const slices = informers.of(endpointSlices)
  const byService = slices.index('service', serviceOf)
  const byAddress = slices.index('address', endpointAddresses)
  const byClusterIp = allServices.index('cluster-ip', clusterIps)
  const base = [allServices, allNamespaces, slices]
  for (const informer of base) informer.addEventHandler(onChange)
  let allPods: Informer<Pod> | undefined
  let isSynced = false
  return {
    get hasSynced() {
      isSynced ||= base.every(informer => informer.hasSynced)
      return isSynced
    },
    watchPods: () => {
      if (allPods !== undefined) return
      allPods = informers.of(pods)
      allPods.addEventHandler(onChange)
    },
    hasNamespace: name => allNamespaces.get(name) !== undefined,
    service: (namespace, name) => allServices.get(`${namespace}/${name}`),
    slicesOf: (namespace, name) => byService.get(`${namespace}/${name}`),
    servicesAt: address => byClusterIp.get(address),
    slicesAt: address => byAddress.get(address),
    hasPodAt: (namespace, address) => {
      if (!allPods?.hasSynced) return undefined
      const there = allPods.index('address', podAddresses).get(address)
      return there.some(({ metadata }) => metadata.namespace === namespace)
    },
  }
}

function serviceOf({ metadata }: EndpointSlice): readonly string[] {
  const name = metadata.labels?.[serviceNameLabel]
  return name ? [`${metadata.namespace ?? ''}/${name}`] : []
}

function endpointAddresses({ endpoints = [] }: EndpointSlice): readonly string[] {
  return canonical(endpoints.flatMap(({ addresses }) => addresses))
}

function clusterIps({ spec }: Service): readonly string[] {
  return canonical(spec?.clusterIPs ?? [])
}

/** Addresses of pods that have ended may belong to others. */
function podAddresses({ status = {} }: Pod): readonly string[] {
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return []
  return canonical((status.podIPs ?? []).flatMap(({ ip }) => ip ?? []))
}

function canonical(addresses: readonly string[]): readonly string[] {
  return [...new Set(addresses.flatMap(text => parseIpLeniently(text) ?? []).map(formatIp))]
}
