/** The in-tree plugins in order of execution, with their default weights. */
import type { PluginFactory } from './framework.ts'
import { defaultBinder } from './plugins/default-binder.ts'
import { defaultPreemption } from './plugins/default-preemption.ts'
import { deviceExpressions } from './plugins/dynamic-resources/device-expressions.ts'
import { dynamicResources } from './plugins/dynamic-resources.ts'
import { imageLocality } from './plugins/image-locality.ts'
import { interPodAffinity } from './plugins/inter-pod-affinity.ts'
import { nodeAffinity } from './plugins/node-affinity.ts'
import { nodeDeclaredFeatures } from './plugins/node-declared-features.ts'
import { nodeName } from './plugins/node-name.ts'
import { nodePorts } from './plugins/node-ports.ts'
import { nodeResourcesBalancedAllocation } from './plugins/node-resources-balanced-allocation.ts'
import { nodeResourcesFit } from './plugins/node-resources-fit.ts'
import { nodeUnschedulable } from './plugins/node-unschedulable.ts'
import { nodeVolumeLimits } from './plugins/node-volume-limits.ts'
import { podTopologySpread } from './plugins/pod-topology-spread.ts'
import { prioritySort } from './plugins/priority-sort.ts'
import { schedulingGates } from './plugins/scheduling-gates.ts'
import { taintToleration } from './plugins/taint-toleration.ts'
import { volumeBinding } from './plugins/volume-binding.ts'
import { volumeRestrictions } from './plugins/volume-restrictions.ts'
import { volumeZone } from './plugins/volume-zone.ts'

export interface PluginEntry {
  readonly make: PluginFactory
  /** Weight of its scores; 1 when absent. */
  readonly weight?: number
}

export const defaultPlugins: ReadonlyMap<string, PluginEntry> = new Map<string, PluginEntry>([
  ['SchedulingGates', { make: schedulingGates }],
  ['PrioritySort', { make: prioritySort }],
  ['NodeUnschedulable', { make: nodeUnschedulable }],
  ['NodeName', { make: nodeName }],
  ['TaintToleration', { make: taintToleration, weight: 3 }],
  ['NodeAffinity', { make: nodeAffinity, weight: 2 }],
  ['NodePorts', { make: nodePorts }],
  ['NodeResourcesFit', { make: nodeResourcesFit }],
  ['VolumeRestrictions', { make: volumeRestrictions }],
  ['NodeVolumeLimits', { make: nodeVolumeLimits }],
  ['VolumeBinding', { make: volumeBinding }],
  ['VolumeZone', { make: volumeZone }],
  ['PodTopologySpread', { make: podTopologySpread, weight: 2 }],
  ['InterPodAffinity', { make: interPodAffinity, weight: 2 }],
  ['DynamicResources', { make: dynamicResources(deviceExpressions), weight: 2 }],
  ['DefaultPreemption', { make: defaultPreemption }],
  ['NodeResourcesBalancedAllocation', { make: nodeResourcesBalancedAllocation }],
  ['ImageLocality', { make: imageLocality }],
  ['DefaultBinder', { make: defaultBinder }],
  ['NodeDeclaredFeatures', { make: nodeDeclaredFeatures }],
])
