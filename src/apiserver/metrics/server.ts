/** Metrics of the server itself: its build, its features, its metrics and what is specific to single resources. */
import type { Histogram, MetricsRegistry, ScalarMetric, ScalarSeries } from '#/base/metrics.ts'
import { alpha, beta, commonBuckets, exponentialBuckets } from './family.ts'

/** Labels of `kubernetes_build_info`, which are the fields of `/version`. */
export interface BuildInfo {
  readonly major: string
  readonly minor: string
  readonly gitVersion: string
  readonly gitCommit: string
  readonly gitTreeState: string
  readonly buildDate: string
  readonly goVersion: string
  readonly compiler: string
  readonly platform: string
}

export interface Allocation {
  readonly scope: 'static' | 'dynamic'
  readonly isAllocated: boolean
}

export interface CidrUse {
  readonly cidr: string
  readonly allocated: number
  readonly available: number
}

export interface ConversionCall {
  readonly definition: string
  readonly from: string
  readonly to: string
  readonly succeeded: boolean
  readonly failureType: string
  readonly seconds: number
}

export class ServerMetrics {
  readonly #registry: MetricsRegistry
  readonly #csr: Readonly<Record<'requested' | 'honored', ScalarMetric>>
  readonly #clusterIps: Readonly<{ total: ScalarMetric; errors: ScalarMetric; duration: Histogram }>
  readonly #nodePorts: Readonly<{ total: ScalarMetric; errors: ScalarMetric }>
  readonly #insecureLogs: ScalarMetric
  readonly logTlsFailures: ScalarSeries
  readonly #crdConversion: Histogram
  readonly #conversions: ScalarMetric
  readonly #conversionDuration: Histogram
  readonly repairErrors: Readonly<Record<'clusterIp', ScalarSeries>>
  readonly #repairs: Readonly<Record<'clusterIp' | 'nodePort', ScalarMetric>>

  constructor(registry: MetricsRegistry) {
    this.#registry = registry
    this.#csr = {
      requested: registry.counter(families.csrRequested),
      honored: registry.counter(families.csrHonored),
    }
    this.#clusterIps = {
      total: registry.counter(families.clusterIps),
      errors: registry.counter(families.clusterIpErrors),
      duration: registry.histogram(families.clusterIpDuration),
    }
    this.#nodePorts = {
      total: registry.counter(families.nodePorts),
      errors: registry.counter(families.nodePortErrors),
    }
    this.#insecureLogs = registry.counter(families.insecureLogs)
    this.logTlsFailures = registry.counter(families.logTlsFailures).with()
    this.#crdConversion = registry.histogram(families.crdConversion)
    this.#conversions = registry.counter(families.conversions)
    this.#conversionDuration = registry.histogram(families.conversionDuration)
    this.#repairs = {
      clusterIp: registry.counter(families.clusterIpRepairs),
      nodePort: registry.counter(families.nodePortRepairs),
    }
    this.repairErrors = {
      clusterIp: registry.counter(families.clusterIpRepairErrors).with(),
    }
    readRegistry(registry)
  }

  readBuild(info: BuildInfo): void {
    const build = this.#registry.gauge(families.build)
    const { major, minor, gitVersion, gitCommit, gitTreeState, buildDate, goVersion, compiler } = info
    const commit = [gitCommit, gitTreeState, buildDate]
    build.with(major, minor, gitVersion, ...commit, goVersion, compiler, info.platform).value = 1
  }

  recordCertificateRequest(signerName: string, kind: 'requested' | 'honored'): void {
    this.#csr[kind].with(signerName).add()
  }

  recordClusterIp(cidr: string, { scope, isAllocated }: Allocation, seconds: number): void {
    const { total, errors, duration } = this.#clusterIps
    const counted = isAllocated ? total : errors
    counted.with(cidr, scope).add()
    duration.with(cidr).observe(seconds)
  }

  recordNodePort({ scope, isAllocated }: Allocation): void {
    const counted = isAllocated ? this.#nodePorts.total : this.#nodePorts.errors
    counted.with(scope).add()
  }

  /** `usage` is `enforce_tls` or `skip_tls_allowed`. */
  recordPodLog(usage: string): void {
    this.#insecureLogs.with(usage).add()
  }

  recordConversion({ definition, from, to, succeeded, failureType, seconds }: ConversionCall): void {
    this.#crdConversion.with(definition, from, to, String(succeeded)).observe(seconds)
    const result = succeeded ? 'success' : 'failure'
    this.#conversions.with(result, failureType).add()
    this.#conversionDuration.with(result, failureType).observe(seconds)
  }

  recordRepair(of: 'clusterIp' | 'nodePort', type: string, count: number): void {
    if (count > 0) this.#repairs[of].with(type).add(count)
  }

  /** Read at scrape time. */
  readAllocations(clusterIps: () => readonly CidrUse[], ports: () => Omit<CidrUse, 'cidr'>): void {
    const cidrs = (name: string, help: string, read: (use: CidrUse) => number): void => {
      this.#registry.callbackMetric({
        ...alpha(`kube_apiserver_clusterip_allocator_${name}`, help, ['cidr']),
        type: 'gauge',
        read: () => clusterIps().map(use => [[use.cidr], read(use)]),
      })
    }
    cidrs('allocated_ips', 'Cluster IPs in use.', ({ allocated }) => allocated)
    cidrs('available_ips', 'Free cluster IPs.', ({ available }) => available)
    const range = (name: string, help: string, read: (use: Omit<CidrUse, 'cidr'>) => number): void => {
      this.#registry.callbackMetric({
        ...alpha(`kube_apiserver_nodeport_allocator_${name}`, help),
        type: 'gauge',
        read: () => [[[], read(ports())]],
      })
    }
    range('allocated_ports', 'Node ports in use.', ({ allocated }) => allocated)
    range('available_ports', 'Free node ports.', ({ available }) => available)
  }
}

/** Metrics about the registry itself. */
function readRegistry(registry: MetricsRegistry): void {
  registry.callbackMetric({
    ...beta('registered_metrics_total', 'Registered metrics by stability and deprecation.', [
      'stability_level',
      'deprecated_version',
    ]),
    type: 'counter',
    read: () => {
      const counts = new Map<string, [string[], number]>()
      for (const { stability, deprecatedVersion = '' } of registry.metrics) {
        if (stability === undefined) continue
        const key = `${stability} ${deprecatedVersion}`
        counts.getOrInsert(key, [[stability, deprecatedVersion], 0])[1]++
      }
      return counts.values()
    },
  })
  const total = (name: string, help: string, is: 'isDisabled' | 'isHidden'): void => {
    registry.callbackMetric({
      ...beta(name, help),
      type: 'counter',
      read: () => [[[], registry.metrics.filter(metric => metric[is]).length]],
    })
  }
  total('disabled_metrics_total', 'Metrics disabled by --disabled-metrics.', 'isDisabled')
  total('hidden_metrics_total', 'Metrics hidden because they are deprecated.', 'isHidden')
}

const failureLabels = ['result', 'failure_type']

const families = {
  build: beta('kubernetes_build_info', 'The version of this program; the value is 1.', [
    'major',
    'minor',
    'git_version',
    'git_commit',
    'git_tree_state',
    'build_date',
    'go_version',
    'compiler',
    'platform',
  ]),
  csrRequested: alpha(
    'apiserver_certificates_registry_csr_requested_duration_total',
    'Issued CertificateSigningRequests with expirationSeconds.',
    ['signerName'],
  ),
  csrHonored: alpha(
    'apiserver_certificates_registry_csr_honored_duration_total',
    'Issued CertificateSigningRequests whose expirationSeconds the signer followed.',
    ['signerName'],
  ),
  clusterIps: alpha('kube_apiserver_clusterip_allocator_allocation_total', 'Allocated cluster IPs.', [
    'cidr',
    'scope',
  ]),
  clusterIpErrors: alpha(
    'kube_apiserver_clusterip_allocator_allocation_errors_total',
    'Cluster IPs that could not be allocated.',
    ['cidr', 'scope'],
  ),
  clusterIpDuration: {
    ...alpha(
      'kube_apiserver_clusterip_allocator_allocation_duration_seconds',
      'Time to allocate a cluster IP.',
      ['cidr'],
    ),
    buckets: commonBuckets,
  },
  nodePorts: alpha('kube_apiserver_nodeport_allocator_allocation_total', 'Allocated node ports.', ['scope']),
  nodePortErrors: alpha(
    'kube_apiserver_nodeport_allocator_allocation_errors_total',
    'Node ports that could not be allocated.',
    ['scope'],
  ),
  insecureLogs: alpha(
    'kube_apiserver_pod_logs_insecure_backend_total',
    'Requests for pod logs, by the verification of the kubelet that they asked for.',
    ['usage'],
  ),
  logTlsFailures: alpha(
    'kube_apiserver_pod_logs_backend_tls_failure_total',
    'Requests for pod logs that failed because the kubelet could not be verified.',
  ),
  crdConversion: {
    ...alpha('apiserver_crd_conversion_webhook_duration_seconds', 'Time of conversions by webhooks.', [
      'crd_name',
      'from_version',
      'to_version',
      'succeeded',
    ]),
    buckets: exponentialBuckets(0.001, 2, 15),
  },
  conversions: alpha(
    'apiserver_conversion_webhook_request_total',
    'Calls of conversion webhooks.',
    failureLabels,
  ),
  conversionDuration: {
    ...alpha(
      'apiserver_conversion_webhook_duration_seconds',
      'Time of calls of conversion webhooks.',
      failureLabels,
    ),
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60],
  },
  clusterIpRepairs: alpha('apiserver_clusterip_repair_ip_errors_total', 'Repaired cluster IPs.', ['type']),
  nodePortRepairs: alpha('apiserver_nodeport_repair_port_errors_total', 'Repaired node ports.', ['type']),
  clusterIpRepairErrors: alpha(
    'apiserver_clusterip_repair_reconcile_errors_total',
    'Failed checks of cluster IPs.',
  ),
} as const
