/** Rules and table columns of the core group. */
import type { GroupColumns } from '../../table-columns.ts'
import { createdColumns } from '../created-columns.ts'
import {
  componentStatusColumns,
  configMapColumns,
  namespaceColumns,
  resourceQuotaColumns,
  secretColumns,
  serviceAccountColumns,
} from './columns/data.ts'
import { eventColumns } from './event-columns.ts'
import { nodeColumns } from './columns/node.ts'
import { podColumns, podTemplateColumns, replicationControllerColumns } from './columns/pod.ts'
import { endpointsColumns, serviceColumns } from './columns/service.ts'
import { persistentVolumeClaimColumns, persistentVolumeColumns } from './columns/volumes.ts'
import type { GroupRules, KindRules } from '../../kind-rules.ts'
import { configMapRules } from './config-map.ts'
import { endpointsRules } from './endpoints.ts'
import { eventRules } from './event.ts'
import { limitRangeRules } from './limit-range.ts'
import { namespaceRules } from './namespace.ts'
import { nodeRules } from './node.ts'
import { persistentVolumeRules } from './persistent-volume.ts'
import { persistentVolumeClaimRules } from './persistent-volume-claim.ts'
import { podRules, podTemplateRules } from '../pod/pod-rules.ts'
import { replicationControllerRules } from './replication-controller-rules.ts'
import { resourceQuotaRules } from './resource-quota.ts'
import { secretRules } from './secret.ts'
import { serviceRules } from './service.ts'
import type { Binding, ServiceAccount } from '../../generated/core/v1.ts'
import { annotationOf } from '../../metadata.ts'
import { mapCopyOnWrite, withField } from '../../copy-on-write.ts'
import { notSupported, required, type FieldError } from '../../field-error.ts'

/** With a Binding the scheduler assigns a pod to a node. */
const bindingRules: KindRules<Binding> = { validate: validateBinding }

export const serviceAccountRules: KindRules<ServiceAccount> = {
  prepareForCreate: withPlainSecrets,
  prepareForUpdate: withPlainSecrets,
  warnings: warningsForServiceAccount,
  returnDeletedObject: true,
}

export const coreRules: GroupRules = {
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
}

export const coreColumns: GroupColumns = {
  ComponentStatus: componentStatusColumns,
  ConfigMap: configMapColumns,
  Endpoints: endpointsColumns,
  Event: eventColumns,
  LimitRange: createdColumns,
  Namespace: namespaceColumns,
  Node: nodeColumns,
  PersistentVolume: persistentVolumeColumns,
  PersistentVolumeClaim: persistentVolumeClaimColumns,
  Pod: podColumns,
  PodTemplate: podTemplateColumns,
  ReplicationController: replicationControllerColumns,
  ResourceQuota: resourceQuotaColumns,
  Secret: secretColumns,
  Service: serviceColumns,
  ServiceAccount: serviceAccountColumns,
}

function validateBinding({ target }: Binding): FieldError[] {
  const errors: FieldError[] = []
  const { kind, name } = target ?? {}
  if (kind && kind !== 'Node') errors.push(notSupported('target.kind', kind, ['Node', '<empty>']))
  if (!name) errors.push(required('target.name', ''))
  return errors
}

const enforceMountableSecrets = 'kubernetes.io/enforce-mountable-secrets'

/** Keeps only the names of the secret references. */
function withPlainSecrets(account: ServiceAccount): ServiceAccount {
  return withField(account, 'secrets', secrets =>
    mapCopyOnWrite(secrets, secret => {
      const { name } = secret
      const isPlain = Object.keys(secret).every(key => key === 'name')
      return isPlain ? secret : { ...(name && { name }) }
    }),
  )
}

function warningsForServiceAccount(account: ServiceAccount, old: ServiceAccount | undefined): string[] {
  const isOld = old !== undefined && annotationOf(old, enforceMountableSecrets) !== undefined
  if (isOld || annotationOf(account, enforceMountableSecrets) === undefined) return []
  const advice = 'prefer separate namespaces to isolate access to mounted secrets'
  return [`metadata.annotations[${enforceMountableSecrets}]: deprecated in v1.32+; ${advice}`]
}
