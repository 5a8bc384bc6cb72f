/**
 * KubeletConfiguration: each field of the API type with its meaning here. A field that only tunes what this kubelet
 * does in another way has no effect and is reported; one that would change what pods or clients may do is refused.
 * https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
 */
import type { Taint } from '#/api/generated/core/v1.ts'
import { isObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { UsageError } from '#/base/flags.ts'
import type { KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import {
  boolean,
  bytes,
  duration,
  durationText,
  integer,
  only,
  readNodeConfiguration,
  text,
  textMap,
  texts,
  unsupported,
  unused,
  type Fields,
  type NodeConfiguration,
} from '../node-configuration.ts'

/** Settings of a file or of flags; what is absent has a default. */
export interface KubeletSettings {
  readonly kubelet: KubeletFields
  readonly kubeReserved: Readonly<Record<string, string>>
  readonly mergesDefaultEviction: boolean
  readonly clientCaFile: string
  readonly tlsCertFile: string
  readonly tlsPrivateKeyFile: string
  readonly rotatesCertificates: boolean
  readonly bootstrapsServerTls: boolean
  readonly healthHost: string
  readonly healthPort: number
  readonly runtimeEndpoint: string
}

export type KubeletFields = Partial<
  Omit<KubeletConfiguration, 'imageGc' | 'containerLog' | 'webhookCache'> & {
    readonly imageGc: Partial<KubeletConfiguration['imageGc']>
    readonly containerLog: Partial<KubeletConfiguration['containerLog']>
    readonly webhookCache: Partial<KubeletConfiguration['webhookCache']>
  }
>

/** Throws UsageError. */
export function readKubeletConfiguration(content: string): NodeConfiguration<KubeletSettings> {
  return readNodeConfiguration(content, {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    fields,
  })
}

type Settings = KubeletSettings

const port = { max: 65_535 }
const percent = { max: 100 }

/** Of a setter of one field of the kubelet. */
function set<Name extends keyof KubeletFields>(
  name: Name,
): (value: NonNullable<KubeletFields[Name]>) => Partial<Settings> {
  return value => ({ kubelet: { [name]: value } })
}

const fields: Fields<Settings> = {
  ...serving(),
  ...pods(),
  ...resources(),
  ...nodeStatus(),
  ...unusedFields(),
}

function serving(): Fields<Settings> {
  return {
    address: text(set('serverAddress')),
    port: integer(set('kubeletPort'), { min: 1, ...port }),
    readOnlyPort: unsupported('clients are always authenticated'),
    enableServer: only([true], 'the API server needs the server of the kubelet'),
    enableDebuggingHandlers: only([true], 'logs and exec need these handlers; RBAC restricts them'),
    tlsCertFile: text(tlsCertFile => ({ tlsCertFile })),
    tlsPrivateKeyFile: text(tlsPrivateKeyFile => ({ tlsPrivateKeyFile })),
    tlsCipherSuites: unsupported('the suites of Node.js are used'),
    tlsCurvePreferences: unsupported('the curves of Node.js are used'),
    tlsMinVersion: only(['VersionTLS12'], 'TLS 1.2 and 1.3 are served'),
    rotateCertificates: boolean(rotatesCertificates => ({ rotatesCertificates })),
    serverTLSBootstrap: boolean(bootstrapsServerTls => ({ bootstrapsServerTls })),
    authentication: {
      x509: { clientCAFile: text(clientCaFile => ({ clientCaFile })) },
      webhook: {
        enabled: only([true], 'tokens are always reviewed by the API server'),
        cacheTTL: duration(tokenMs => ({ kubelet: { webhookCache: { tokenMs } } })),
      },
      anonymous: { enabled: only([false], 'clients are always authenticated') },
    },
    authorization: {
      mode: only(['Webhook'], 'requests are always authorized by the API server'),
      webhook: {
        cacheAuthorizedTTL: duration(allowedMs => ({ kubelet: { webhookCache: { allowedMs } } })),
        cacheUnauthorizedTTL: duration(deniedMs => ({ kubelet: { webhookCache: { deniedMs } } })),
      },
    },
    healthzPort: integer(healthPort => ({ healthPort }), port),
    healthzBindAddress: text(healthHost => ({ healthHost })),
    streamingConnectionIdleTimeout: duration(set('streamingConnectionIdleTimeoutMs')),
  }
}

function pods(): Fields<Settings> {
  return {
    staticPodPath: text(set('staticPodPath')),
    staticPodURL: unsupported('static pods are read from staticPodPath only'),
    staticPodURLHeader: unsupported('static pods are read from staticPodPath only'),
    podLogsDir: text(set('podLogsDir')),
    clusterDomain: text(set('clusterDomain')),
    clusterDNS: texts(set('clusterDNS')),
    resolvConf: value => {
      if (typeof value !== 'string') throw new UsageError('must be a string')
      return { kubelet: { resolvConf: value } }
    },
    maxPods: integer(value => (value === 0 ? {} : set('podsMax')(value))),
    podsPerCore: unsupported('maxPods limits the pods of a node'),
    podPidsLimit: integer(set('podPidsMax'), { min: -1, max: Number.MAX_SAFE_INTEGER }),
    podCIDR: text(set('podCidr')),
    seccompDefault: boolean(set('seccompDefault')),
    allowedUnsafeSysctls: texts(set('allowedUnsafeSysctls')),
    containerLogMaxSize: bytes(maxBytes => ({ kubelet: { containerLog: { maxBytes } } })),
    containerLogMaxFiles: integer(maxFiles => ({ kubelet: { containerLog: { maxFiles } } }), { min: 2 }),
    containerRuntimeEndpoint: text(runtimeEndpoint => ({ runtimeEndpoint })),
    imageServiceEndpoint: unsupported(
      'images are pulled by the container runtime of containerRuntimeEndpoint',
    ),
    runtimeRequestTimeout: duration(set('runtimeRequestTimeoutMs')),
    imageMinimumGCAge: duration(minimumAgeMs => ({ kubelet: { imageGc: { minimumAgeMs } } })),
    imageGCHighThresholdPercent: integer(highPercent => ({ kubelet: { imageGc: { highPercent } } }), percent),
    imageGCLowThresholdPercent: integer(lowPercent => ({ kubelet: { imageGc: { lowPercent } } }), percent),
    imageMaximumGCAge: unused(),
    crashLoopBackOff: { maxContainerRestartPeriod: unused() },
    userNamespaces: { idsPerPod: unused(65_536) },
    runOnce: unsupported('the kubelet runs until it is stopped'),
  }
}

function resources(): Fields<Settings> {
  return {
    cgroupRoot: text(set('cgroupRoot')),
    cgroupsPerQOS: only([true], 'pods always have cgroups by QoS class'),
    cgroupDriver: unused('cgroupfs'),
    systemReserved: textMap(set('systemReserved')),
    kubeReserved: textMap(kubeReserved => ({ kubeReserved })),
    enforceNodeAllocatable: only([['pods']], 'the cgroups of the system are not changed'),
    systemReservedCgroup: unsupported('the cgroups of the system are not changed'),
    kubeReservedCgroup: unsupported('the cgroups of the system are not changed'),
    reservedSystemCPUs: unsupported('systemReserved reserves CPU'),
    evictionHard: textMap(set('evictionHard')),
    evictionSoft: textMap(set('evictionSoft')),
    evictionSoftGracePeriod: textMap(set('evictionSoftGracePeriod')),
    evictionPressureTransitionPeriod: durationText(set('evictionPressureTransitionPeriod')),
    evictionMaxPodGracePeriod: integer(set('evictionMaxPodGracePeriod')),
    evictionMinimumReclaim: textMap(set('evictionMinimumReclaim')),
    mergeDefaultEvictionSettings: boolean(mergesDefaultEviction => ({ mergesDefaultEviction })),
    cpuCFSQuota: only([true], 'CPU limits are always enforced'),
    cpuCFSQuotaPeriod: only(['100ms'], 'CPU limits are enforced in this period'),
    cpuManagerPolicy: only(['none'], 'containers share all CPUs'),
    cpuManagerPolicyOptions: unsupported('containers share all CPUs'),
    memoryManagerPolicy: only(['None'], 'containers share all NUMA nodes'),
    reservedMemory: unsupported('containers share all NUMA nodes'),
    topologyManagerPolicy: only(['none'], 'containers share all NUMA nodes'),
    topologyManagerPolicyOptions: unsupported('containers share all NUMA nodes'),
    qosReserved: unsupported('systemReserved reserves resources'),
    singleProcessOOMKill: unused(false),
    memorySwap: { swapBehavior: only(['NoSwap'], 'containers do not use swap') },
  }
}

function nodeStatus(): Fields<Settings> {
  return {
    nodeStatusUpdateFrequency: duration(set('nodeStatusUpdateMs')),
    nodeStatusReportFrequency: duration(set('nodeStatusReportMs')),
    nodeLeaseDurationSeconds: integer(value => (value === 0 ? {} : set('nodeLeaseDurationSeconds')(value))),
    registerNode: boolean(set('registerNode')),
    registerWithTaints: value => ({ kubelet: { registerTaints: taintsOf(value) } }),
    providerID: text(set('providerId')),
    shutdownGracePeriod: unused(),
    shutdownGracePeriodCriticalPods: unused(),
    shutdownGracePeriodByPodPriority: unused(),
  }
}

function taintsOf(value: JsonValue): readonly Taint[] {
  if (!Array.isArray(value)) throw new UsageError('must be a list of taints')
  return value.map(each => {
    const { key, value: text, effect, ...rest } = isObject(each) ? each : {}
    if (typeof key !== 'string' || typeof effect !== 'string' || Object.keys(rest).length > 0)
      throw new UsageError('each taint must have key and effect, and may have value')
    return { key, effect, ...(typeof text === 'string' && text !== '' && { value: text }) }
  })
}

/** Intervals, limits and paths of what this kubelet does in another way. */
function unusedFields(): Fields<Settings> {
  return {
    syncFrequency: unused('1m0s', '1m'),
    fileCheckFrequency: unused('20s'),
    httpCheckFrequency: unused('20s'),
    registryPullQPS: unused(5),
    registryBurst: unused(10),
    imagePullCredentialsVerificationPolicy: unused('NeverVerifyPreloadedImages'),
    preloadedImagesVerificationAllowlist: unused(),
    eventRecordQPS: unused(50),
    eventBurst: unused(100),
    enableContentionProfiling: unused(false),
    enableProfilingHandler: unused(true, false),
    enableDebugFlagsHandler: unused(true, false),
    enableSystemLogHandler: unused(true, false),
    enableSystemLogQuery: unused(false),
    oomScoreAdj: unused(-999),
    volumeStatsAggPeriod: unused('1m0s', '1m'),
    kubeletCgroups: unused(),
    systemCgroups: unused(),
    cpuManagerReconcilePeriod: unused('10s'),
    topologyManagerScope: unused('container', 'pod'),
    hairpinMode: unused('promiscuous-bridge', 'hairpin-veth', 'none'),
    nodeStatusMaxImages: unused(50),
    maxOpenFiles: unused(1_000_000),
    contentType: unused('application/json', 'application/vnd.kubernetes.protobuf'),
    kubeAPIQPS: unused(50),
    kubeAPIBurst: unused(100),
    serializeImagePulls: unused(true, false),
    maxParallelImagePulls: unused(),
    enableControllerAttachDetach: unused(true),
    protectKernelDefaults: unused(false),
    makeIPTablesUtilChains: unused(true, false),
    iptablesMasqueradeBit: unused(14),
    iptablesDropBit: unused(15),
    featureGates: unused(),
    failSwapOn: unused(true, false),
    failCgroupV1: unused(true, false),
    containerLogMaxWorkers: unused(1),
    containerLogMonitorInterval: unused('10s'),
    configMapAndSecretChangeDetectionStrategy: unused('Watch', 'Cache', 'Get'),
    showHiddenMetricsForVersion: unused(),
    volumePluginDir: unused(),
    kernelMemcgNotification: unused(false),
    logging: unused(),
    memoryThrottlingFactor: unused(0.9),
    memoryReservationPolicy: unused('None'),
    tracing: unused(),
    localStorageCapacityIsolation: unused(true),
  }
}
