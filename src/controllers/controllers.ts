/** Assembles all controllers, depending on the settings. */
import { addressPools } from './address-pools.ts'
import { attachDetachController } from './attach-detach.ts'
import { bootstrapSignerController } from './bootstrap-signer.ts'
import { certificateApprovingController } from './certificate-approving.ts'
import { certificateCleanerController } from './certificate-cleaner.ts'
import { certificateSigningController, type CertificateSigningSettings } from './certificate-signing.ts'
import { clusterRoleAggregationController } from './cluster-role-aggregation.ts'
import type { Controller } from './controller.ts'
import { cronJobController } from './cron-job.ts'
import { daemonSetController } from './daemon-set.ts'
import { deploymentController } from './deployment.ts'
import { deviceTaintEvictionController } from './device-taint-eviction.ts'
import { disruptionController } from './disruption.ts'
import { endpointSliceController, type EndpointSliceSettings } from './endpoint-slice.ts'
import { endpointSliceMirroringController } from './endpoint-slice-mirroring.ts'
import { endpointsController, type EndpointsSettings } from './endpoints.ts'
import { ephemeralVolumeController } from './ephemeral-volume.ts'
import { garbageCollectorController } from './garbage-collector.ts'
import { horizontalPodAutoscalerController, type AutoscalingSettings } from './horizontal-pod-autoscaler.ts'
import { jobController } from './job.ts'
import { kubeProxyCertificateApprovingController } from './kube-proxy-certificate-approving.ts'
import { kubeletServingCertificateApprovingController } from './kubelet-serving-certificate-approving.ts'
import { legacyTokenCleanerController, type LegacyTokenCleanerSettings } from './legacy-token-cleaner.ts'
import { namespaceController } from './namespace.ts'
import { nodeIpamController, type NodeIpamSettings } from './node-ipam.ts'
import { nodeLifecycleController, type NodeLifecycleSettings } from './node-lifecycle.ts'
import { nodeTtlController } from './node-ttl.ts'
import { persistentVolumeBinderController } from './persistent-volume-binder.ts'
import { persistentVolumeClaimProtectionController } from './persistent-volume-claim-protection.ts'
import { persistentVolumeExpanderController } from './persistent-volume-expander.ts'
import { persistentVolumeProtectionController } from './persistent-volume-protection.ts'
import { podGarbageCollectorController, type PodGarbageCollectorSettings } from './pod-garbage-collector.ts'
import type { Provisioner } from './shared/provisioner.ts'
import { replicaSetController, replicationControllerController } from './replica-set.ts'
import { resourceClaimController } from './resource-claim.ts'
import { resourceQuotaController } from './resource-quota.ts'
import { rootCaPublisherController } from './root-ca-publisher.ts'
import { serviceAccountController } from './service-account.ts'
import {
  serviceAccountTokensController,
  type ServiceAccountTokensSettings,
} from './service-account-tokens.ts'
import { serviceCidrController } from './service-cidr.ts'
import { serviceLoadBalancerController } from './service-load-balancer.ts'
import { statefulSetController } from './stateful-set.ts'
import { storageVersionMigratorController } from './storage-version-migrator.ts'
import { taintEvictionController } from './taint-eviction.ts'
import { tokenCleanerController } from './token-cleaner.ts'
import { ttlAfterFinishedController } from './ttl-after-finished.ts'
import { validatingAdmissionPolicyStatusController } from './validating-admission-policy-status.ts'
import { volumeAttributesClassProtectionController } from './volume-attributes-class-protection.ts'

/**
 * Dependencies of controllers beside the API. A controller is not started if a setting that it requires is
 * missing.
 */
export interface ControllersSettings {
  /** CA certificate of the cluster, PEM. */
  readonly caCertificate?: string
  readonly signCertificate?: CertificateSigningSettings['sign']
  /** Signs service account tokens that are stored in secrets. */
  readonly signToken?: ServiceAccountTokensSettings['sign']
  /** Maximum validity of signed certificates. */
  readonly certificateDurationMs?: number
  /** CIDRs for pod addresses; without them nodes get no `podCIDR`. */
  readonly clusterCidrs?: readonly string[]
  readonly nodeCidrPrefixLengths?: NodeIpamSettings['prefixLengths']
  readonly serviceCidrs?: readonly string[]
  /** The default pool of addresses for services of type LoadBalancer: CIDRs, `first-last` ranges, single addresses. */
  readonly loadBalancerAddresses?: readonly string[]
  /** Volume provisioners that run in this process. */
  readonly provisioners?: readonly Provisioner[]
  readonly nodeLifecycle?: NodeLifecycleSettings
  readonly horizontalPodAutoscaler?: AutoscalingSettings
  readonly podGarbageCollector?: PodGarbageCollectorSettings
  readonly endpointSlice?: EndpointSliceSettings
  readonly endpoints?: EndpointsSettings
  readonly legacyTokenCleaner?: LegacyTokenCleanerSettings
  /** The feature gate StorageVersionMigrator, which is off by default. */
  readonly hasStorageVersionMigrator?: boolean
}

export function controllersOf(settings: ControllersSettings = {}): readonly Controller[] {
  const { provisioners = [] } = settings
  return [
    attachDetachController,
    bootstrapSignerController,
    certificateApprovingController,
    certificateCleanerController,
    clusterRoleAggregationController,
    cronJobController,
    daemonSetController,
    deploymentController,
    deviceTaintEvictionController,
    disruptionController,
    endpointSliceController(settings.endpointSlice),
    endpointSliceMirroringController,
    endpointsController(settings.endpoints),
    ephemeralVolumeController,
    garbageCollectorController,
    horizontalPodAutoscalerController(settings.horizontalPodAutoscaler),
    jobController,
    kubeProxyCertificateApprovingController,
    kubeletServingCertificateApprovingController,
    legacyTokenCleanerController(settings.legacyTokenCleaner),
    namespaceController,
    nodeLifecycleController(settings.nodeLifecycle),
    nodeTtlController,
    persistentVolumeBinderController({ provisioners }),
    persistentVolumeClaimProtectionController,
    persistentVolumeExpanderController({ provisioners }),
    persistentVolumeProtectionController,
    podGarbageCollectorController(settings.podGarbageCollector),
    replicaSetController,
    replicationControllerController,
    resourceClaimController,
    resourceQuotaController,
    serviceAccountController,
    serviceCidrController,
    serviceLoadBalancerController({ createLoadBalancer: addressPools(settings.loadBalancerAddresses ?? []) }),
    statefulSetController,
    taintEvictionController,
    tokenCleanerController,
    ttlAfterFinishedController,
    validatingAdmissionPolicyStatusController,
    volumeAttributesClassProtectionController,
    ...controllersWith(settings),
  ]
}

/** Controllers that depend on a setting. */
function controllersWith(settings: ControllersSettings): readonly Controller[] {
  const { caCertificate, signCertificate, signToken } = settings
  const { clusterCidrs, serviceCidrs = [], certificateDurationMs } = settings
  const { nodeCidrPrefixLengths: prefixLengths } = settings
  return [
    ...(signCertificate
      ? [
          certificateSigningController({
            sign: signCertificate,
            ...(certificateDurationMs && { durationMs: certificateDurationMs }),
          }),
        ]
      : []),
    ...(clusterCidrs
      ? [nodeIpamController({ clusterCidrs, serviceCidrs, ...(prefixLengths && { prefixLengths }) })]
      : []),
    ...(caCertificate ? [rootCaPublisherController({ caCertificate })] : []),
    ...(signToken
      ? [serviceAccountTokensController({ sign: signToken, ...(caCertificate && { caCertificate }) })]
      : []),
    ...(settings.hasStorageVersionMigrator ? [storageVersionMigratorController] : []),
  ]
}
