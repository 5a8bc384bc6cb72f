/** Rules of the core group. */
import type { GroupRules } from '../../kind-rules.ts'
import { groupRules } from '../group-rules.ts'
import { bindingRules } from './binding.ts'
import { configMapRules } from './config-map.ts'
import { endpointsRules } from './endpoints.ts'
import { eventRules } from './event.ts'
import { limitRangeRules } from './limit-range.ts'
import { namespaceRules } from './namespace.ts'
import { nodeRules } from './node.ts'
import { persistentVolumeRules } from './persistent-volume.ts'
import { persistentVolumeClaimRules } from './persistent-volume-claim.ts'
import { podRules } from '../pod/pod-rules.ts'
import { podTemplateRules } from '../pod/pod-template-rules.ts'
import { replicationControllerRules } from './replication-controller-rules.ts'
import { resourceQuotaRules } from './resource-quota.ts'
import { secretRules } from './secret.ts'
import { serviceRules } from './service.ts'
import { serviceAccountRules } from './service-account.ts'

export const core: GroupRules = groupRules({
  Binding: bindingRules,
  // Computed on read, never stored.
  ComponentStatus: { deprecation: 'is deprecated in v1.19+' },
  ConfigMap: configMapRules,
  Endpoints: endpointsRules,
  Event: eventRules,
  LimitRange: limitRangeRules,
  Namespace: namespaceRules,
  Node: nodeRules,
  PersistentVolume: persistentVolumeRules,
  PersistentVolumeClaim: persistentVolumeClaimRules,
  Pod: podRules,
  PodTemplate: podTemplateRules,
  ReplicationController: replicationControllerRules,
  ResourceQuota: resourceQuotaRules,
  Secret: secretRules,
  Service: serviceRules,
  ServiceAccount: serviceAccountRules,
})
