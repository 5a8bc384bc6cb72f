/** The flag `--controllers`, with Kubernetes' names of controllers and their older names. */
import { UsageError } from '#/base/flags.ts'

/** Older name by name; empty without one. */
const aliases: ReadonlyMap<string, string> = new Map([
  ['bootstrap-signer-controller', 'bootstrapsigner'],
  ['certificatesigningrequest-approving-controller', 'csrapproving'],
  ['certificatesigningrequest-cleaner-controller', 'csrcleaner'],
  ['certificatesigningrequest-signing-controller', 'csrsigning'],
  ['clusterrole-aggregation-controller', 'clusterrole-aggregation'],
  ['cronjob-controller', 'cronjob'],
  ['daemonset-controller', 'daemonset'],
  ['deployment-controller', 'deployment'],
  ['device-taint-eviction-controller', ''],
  ['disruption-controller', 'disruption'],
  ['endpoints-controller', 'endpoint'],
  ['endpointslice-controller', 'endpointslice'],
  ['endpointslice-mirroring-controller', 'endpointslicemirroring'],
  ['ephemeral-volume-controller', 'ephemeral-volume'],
  ['garbage-collector-controller', 'garbagecollector'],
  ['horizontal-pod-autoscaler-controller', 'horizontalpodautoscaling'],
  ['job-controller', 'job'],
  ['kube-proxy-certificate-approving-controller', ''],
  ['kubelet-serving-certificate-approving-controller', ''],
  ['legacy-serviceaccount-token-cleaner-controller', 'legacy-service-account-token-cleaner'],
  ['namespace-controller', 'namespace'],
  ['node-ipam-controller', 'nodeipam'],
  ['node-lifecycle-controller', 'nodelifecycle'],
  ['persistentvolume-attach-detach-controller', 'attachdetach'],
  ['persistentvolume-binder-controller', 'persistentvolume-binder'],
  ['persistentvolume-expander-controller', 'persistentvolume-expander'],
  ['persistentvolume-protection-controller', 'pv-protection'],
  ['persistentvolumeclaim-protection-controller', 'pvc-protection'],
  ['pod-garbage-collector-controller', 'podgc'],
  ['replicaset-controller', 'replicaset'],
  ['replicationcontroller-controller', 'replicationcontroller'],
  ['resourceclaim-controller', 'resource-claim-controller'],
  ['resourcequota-controller', 'resourcequota'],
  ['root-ca-certificate-publisher-controller', 'root-ca-cert-publisher'],
  ['service-cidr-controller', ''],
  ['service-lb-controller', 'service'],
  ['serviceaccount-controller', 'serviceaccount'],
  ['serviceaccount-token-controller', 'serviceaccount-token'],
  ['statefulset-controller', 'statefulset'],
  ['taint-eviction-controller', ''],
  ['token-cleaner-controller', 'tokencleaner'],
  ['ttl-after-finished-controller', 'ttl-after-finished'],
  ['ttl-controller', 'ttl'],
  ['validatingadmissionpolicy-status-controller', ''],
  ['volumeattributesclass-protection-controller', ''],
])

/** These run only when they are named, as in Kubernetes. */
const disabledByDefault: ReadonlySet<string> = new Set([
  'bootstrap-signer-controller',
  'token-cleaner-controller',
])

/** Decides by name whether a controller runs. Throws UsageError for an unknown name. */
export function enabledControllers(given: readonly string[] = ['*']): (name: string) => boolean {
  const named = new Map<string, boolean>()
  for (const each of given.filter(word => word !== '*')) {
    const isEnabled = !each.startsWith('-')
    const name = nameOf(isEnabled ? each : each.slice(1))
    // The first mention decides, as in Kubernetes.
    if (!named.has(name)) named.set(name, isEnabled)
  }
  const hasStar = given.includes('*')
  return name => named.get(name) ?? (hasStar && !disabledByDefault.has(name))
}

function nameOf(given: string): string {
  if (aliases.has(given)) return given
  const found = [...aliases].find(([, alias]) => alias === given && alias !== '')
  if (found === undefined)
    throw new UsageError(`--controllers: there is no controller ${JSON.stringify(given)}`)
  return found[0]
}
