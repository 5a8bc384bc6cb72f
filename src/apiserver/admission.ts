/**
 * The admission plugins of Kubernetes 1.36: their order, which are enabled by default, and their
 * configuration. Each plugin is implemented in its own file under `admission/plugins/`.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
 */
import type { JsonValue } from '#/api/text/json-value.ts'
import type { Files } from '#/platform/platform.ts'
import type { AdmissionPlugin } from './admission/admission-chain.ts'
import { readAdmissionConfiguration } from './admission/admission-configuration.ts'
import { alwaysAdmit } from './admission/plugins/always-admit.ts'
import { alwaysDeny } from './admission/plugins/always-deny.ts'
import { alwaysPullImages } from './admission/plugins/always-pull-images.ts'
import { certificateApproval } from './admission/plugins/certificate-approval.ts'
import { certificateSigning } from './admission/plugins/certificate-signing.ts'
import { certificateSubjectRestriction } from './admission/plugins/certificate-subject-restriction.ts'
import { clusterTrustBundleAttest } from './admission/plugins/cluster-trust-bundle-attest.ts'
import { defaultIngressClass } from './admission/plugins/default-ingress-class.ts'
import { defaultStorageClass } from './admission/plugins/default-storage-class.ts'
import { defaultTolerationSeconds } from './admission/plugins/default-toleration-seconds.ts'
import { denyServiceExternalIps } from './admission/plugins/deny-service-external-ips.ts'
import { eventRateLimit } from './admission/plugins/event-rate-limit.ts'
import { extendedResourceToleration } from './admission/plugins/extended-resource-toleration.ts'
import { imagePolicyWebhook } from './admission/plugins/image-policy-webhook.ts'
import { initializers } from './admission/plugins/initializers.ts'
import { jobValidation } from './admission/plugins/job-validation.ts'
import { limitPodHardAntiAffinityTopology } from './admission/plugins/limit-pod-hard-anti-affinity-topology.ts'
import { limitRanger } from './admission/plugins/limit-ranger.ts'
import { mutatingAdmissionPolicy } from './admission/plugins/mutating-admission-policy.ts'
import { mutatingAdmissionWebhook } from './admission/plugins/mutating-admission-webhook.ts'
import { namespaceAutoProvision } from './admission/plugins/namespace-auto-provision.ts'
import { namespaceExists } from './admission/plugins/namespace-exists.ts'
import { namespaceLifecycle } from './admission/plugins/namespace-lifecycle.ts'
import { nodeDeclaredFeatureValidator } from './admission/plugins/node-declared-feature-validator.ts'
import { nodeRestriction } from './admission/plugins/node-restriction.ts'
import { ownerReferencesPermissionEnforcement } from './admission/plugins/owner-references-permission-enforcement.ts'
import { persistentVolumeClaimResize } from './admission/plugins/persistent-volume-claim-resize.ts'
import { ConfigurationError, type PluginContext, type PluginFactory } from './admission/plugin-context.ts'
import { podGroupProtection } from './admission/plugins/pod-group-protection.ts'
import { podGroupWorkloadExists } from './admission/plugins/pod-group-workload-exists.ts'
import { podNodeSelector } from './admission/plugins/pod-node-selector.ts'
import { podPreset } from './admission/plugins/pod-preset.ts'
import { podResizeValidator } from './admission/plugins/pod-resize-validator.ts'
import { podSecurity } from './admission/plugins/pod-security.ts'
import { podTolerationRestriction } from './admission/plugins/pod-toleration-restriction.ts'
import { podTopologyLabels } from './admission/plugins/pod-topology-labels.ts'
import { priority } from './admission/plugins/priority.ts'
import { resourceQuota } from './admission/plugins/resource-quota.ts'
import { runtimeClass } from './admission/plugins/runtime-class.ts'
import { securityContextDeny } from './admission/plugins/security-context-deny.ts'
import { serviceAccount } from './admission/plugins/service-account.ts'
import { storageObjectInUseProtection } from './admission/plugins/storage-object-in-use-protection.ts'
import { taintNodesByCondition } from './admission/plugins/taint-nodes-by-condition.ts'
import { validatingAdmissionPolicy } from './admission/plugins/validating-admission-policy.ts'
import { validatingAdmissionWebhook } from './admission/plugins/validating-admission-webhook.ts'

export interface AdmissionOptions {
  /** Names of plugins to enable or disable in addition to the defaults. */
  readonly enable?: readonly string[]
  readonly disable?: readonly string[]
  /** Path of the AdmissionConfiguration file. */
  readonly configurationFile?: string
}

/** Creates the admission plugins of a server, in execution order. */
export type AdmissionPluginFactory = (context: PluginContext) => readonly AdmissionPlugin[]

/** Reads and validates the whole configuration before the server starts. Throws ConfigurationError. */
export async function readAdmission(
  files: Files,
  options: AdmissionOptions = {},
): Promise<AdmissionPluginFactory> {
  const { configurationFile } = options
  const names = enabledPlugins(options)
  const configurations: ReadonlyMap<string, JsonValue> = configurationFile
    ? await readAdmissionConfiguration(files, configurationFile)
    : new Map()
  return context => {
    const make = (name: string): AdmissionPlugin | undefined =>
      plugins.get(name)?.make(context, configurations.get(name))
    // Extends the registry, so it is constructed before the plugins that read the cache.
    const first = names.includes('Initializers') ? make('Initializers') : undefined
    return names.flatMap(name => (name === first?.name ? first : make(name)) ?? [])
  }
}

/** Names of the enabled plugins, in execution order. Throws ConfigurationError for unknown names. */
export function enabledPlugins({ enable = [], disable = [] }: AdmissionOptions): readonly string[] {
  refuseUnknown('enable-admission-plugins', enable)
  refuseUnknown('disable-admission-plugins', disable)
  const both = enable.filter(name => disable.includes(name))
  if (both.length > 0) {
    throw new ConfigurationError(
      `[${both.join(' ')}] in enable-admission-plugins and disable-admission-plugins overlapped`,
    )
  }
  return [...plugins]
    .filter(([name, { isOn }]) => enable.includes(name) || (isOn && !disable.includes(name)))
    .map(([name]) => name)
}

function refuseUnknown(option: string, names: readonly string[]): void {
  const unknown = names.filter(name => !plugins.has(name))
  if (unknown.length > 0) {
    throw new ConfigurationError(unknown.map(name => `${option} plugin "${name}" is unknown`).join(', '))
  }
}

interface PluginEntry {
  /** True if the plugin is enabled by default. */
  readonly isOn: boolean
  readonly make: PluginFactory
}

const on = (make: PluginFactory): PluginEntry => ({ isOn: true, make })
const off = (make: PluginFactory): PluginEntry => ({ isOn: false, make })

/** In execution order. */
const plugins: ReadonlyMap<string, PluginEntry> = new Map([
  ['AlwaysAdmit', off(alwaysAdmit)],
  ['NamespaceAutoProvision', off(namespaceAutoProvision)],
  ['NamespaceLifecycle', on(namespaceLifecycle)],
  ['NamespaceExists', off(namespaceExists)],
  ['SecurityContextDeny', off(securityContextDeny)],
  ['LimitPodHardAntiAffinityTopology', off(limitPodHardAntiAffinityTopology)],
  ['PodPreset', off(podPreset)],
  ['LimitRanger', on(limitRanger)],
  ['ServiceAccount', on(serviceAccount)],
  ['NodeRestriction', off(nodeRestriction)],
  ['TaintNodesByCondition', on(taintNodesByCondition)],
  ['AlwaysPullImages', off(alwaysPullImages)],
  ['ImagePolicyWebhook', off(imagePolicyWebhook)],
  ['PodSecurity', on(podSecurity)],
  ['PodNodeSelector', off(podNodeSelector)],
  ['Priority', on(priority)],
  ['DefaultTolerationSeconds', on(defaultTolerationSeconds)],
  ['PodTolerationRestriction', off(podTolerationRestriction)],
  ['EventRateLimit', off(eventRateLimit)],
  ['ExtendedResourceToleration', off(extendedResourceToleration)],
  ['DefaultStorageClass', on(defaultStorageClass)],
  ['StorageObjectInUseProtection', on(storageObjectInUseProtection)],
  ['PodGroupProtection', on(podGroupProtection)],
  ['OwnerReferencesPermissionEnforcement', off(ownerReferencesPermissionEnforcement)],
  ['PersistentVolumeClaimResize', on(persistentVolumeClaimResize)],
  ['RuntimeClass', on(runtimeClass)],
  ['CertificateApproval', on(certificateApproval)],
  ['CertificateSigning', on(certificateSigning)],
  ['ClusterTrustBundleAttest', on(clusterTrustBundleAttest)],
  ['CertificateSubjectRestriction', on(certificateSubjectRestriction)],
  ['DefaultIngressClass', on(defaultIngressClass)],
  ['DenyServiceExternalIPs', off(denyServiceExternalIps)],
  ['PodTopologyLabels', on(podTopologyLabels)],
  ['PodGroupWorkloadExists', on(podGroupWorkloadExists)],
  ['NodeDeclaredFeatureValidator', on(nodeDeclaredFeatureValidator)],
  ['JobValidation', on(jobValidation)],
  ['PodResizeValidator', on(podResizeValidator)],
  ['MutatingAdmissionPolicy', on(mutatingAdmissionPolicy)],
  ['MutatingAdmissionWebhook', on(mutatingAdmissionWebhook)],
  ['Initializers', off(initializers)],
  ['ValidatingAdmissionPolicy', on(validatingAdmissionPolicy)],
  ['ValidatingAdmissionWebhook', on(validatingAdmissionWebhook)],
  ['ResourceQuota', on(resourceQuota)],
  ['AlwaysDeny', off(alwaysDeny)],
])
