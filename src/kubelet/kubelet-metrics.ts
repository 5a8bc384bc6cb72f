/**
 * The metrics of a kubelet, under upstream's names. Components count into the series of their group, which are looked
 * up once; state that exists anyway is counted at the scrape. Metrics of containers and of the machine are not here:
 * `server/cadvisor.ts` reads them from the kernel.
 */
import { HealthCheckMetrics } from '#/base/health-check-metrics.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import { CertificateMetrics } from './kubelet-metrics/certificate-metrics.ts'
import { defineMetrics } from './kubelet-metrics/define-metrics.ts'
import {
  imageMetrics,
  runtimeMetrics,
  volumeMetrics,
  type ImageMetrics,
  type RuntimeMetrics,
  type VolumeMetrics,
} from './kubelet-metrics/operation-metrics.ts'
import {
  nodeMetrics,
  nodeStartupMetrics,
  type NodeMetrics,
  type NodeStartupMetrics,
} from './kubelet-metrics/node-metrics.ts'
import {
  podMetrics,
  startMetrics,
  type PodMetrics,
  type StartMetrics,
} from './kubelet-metrics/pod-metrics.ts'
import { addPodStateMetrics, type NodePods } from './kubelet-metrics/pod-state-metrics.ts'
import { ProbeMetrics } from './kubelet-metrics/probe-metrics.ts'
import { HttpMetrics } from './kubelet-metrics/server-metrics.ts'

export type { NodePods, PodState } from './kubelet-metrics/pod-state-metrics.ts'
export type { ContainerType, PodWorkerOperation } from './kubelet-metrics/pod-metrics.ts'
export type { ProbeSeries, ProbeType } from './kubelet-metrics/probe-metrics.ts'
export { imageSizeLabel } from './kubelet-metrics/operation-metrics.ts'

export class KubeletMetrics {
  /** `/metrics` */
  readonly registry = new MetricsRegistry()
  /** `/metrics/probes` */
  readonly probeRegistry = new MetricsRegistry()
  /** `/metrics/slis` */
  readonly sliRegistry = new MetricsRegistry()
  readonly pods: PodMetrics
  readonly starts: StartMetrics
  readonly node: NodeMetrics
  readonly nodeStartup: NodeStartupMetrics
  readonly runtime: RuntimeMetrics
  readonly images: ImageMetrics
  readonly volumes: VolumeMetrics
  readonly http: HttpMetrics
  readonly probes: ProbeMetrics
  readonly health: HealthCheckMetrics
  readonly certificates: CertificateMetrics

  constructor() {
    const define = defineMetrics(this.registry)
    this.pods = podMetrics(define)
    this.starts = startMetrics(define)
    this.node = nodeMetrics(define)
    this.nodeStartup = nodeStartupMetrics(define)
    this.runtime = runtimeMetrics(define)
    this.images = imageMetrics(define)
    this.volumes = volumeMetrics(define)
    this.http = new HttpMetrics(define)
    this.certificates = new CertificateMetrics(this.registry)
    this.probes = new ProbeMetrics(this.probeRegistry)
    this.health = new HealthCheckMetrics(this.sliRegistry)
  }

  /** Counts pods and containers at each scrape. */
  countPods(read: () => NodePods): void {
    addPodStateMetrics(this.registry, read)
  }
}
