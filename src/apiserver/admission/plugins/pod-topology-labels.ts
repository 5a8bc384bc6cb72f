/**
 * Copies the zone and region labels of the node to the pod when it is bound.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#podtopologylabels
 */
import type { Binding, Pod } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { AdmissionPlugin } from '../admission-chain.ts'
import { getCached } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'
import { podWrites } from './pod-spec.ts'

export function podTopologyLabels(context: PluginContext): AdmissionPlugin {
  return {
    name: 'PodTopologyLabels',
    handles: podWrites(['CREATE'], ['', 'binding']),
    mutate({ object, subresource }) {
      const nodeName =
        subresource === 'binding' ? targetOf(object as Binding) : (object as Pod).spec?.nodeName
      if (!nodeName || object === undefined) return object
      return withLabels(object, getCached(context, nodes, { name: nodeName })?.metadata.labels ?? {})
    },
  }
}

const topologyKeys = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region']

function targetOf({ target }: Binding): string | undefined {
  return target?.kind === 'Node' ? target.name : undefined
}

function withLabels(object: KubernetesObject, labels: Readonly<Record<string, string>>): KubernetesObject {
  const copied = Object.fromEntries(
    topologyKeys.flatMap(key => (labels[key] === undefined ? [] : [[key, labels[key]]])),
  )
  if (Object.keys(copied).length === 0) return object
  return { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...copied } } }
}
