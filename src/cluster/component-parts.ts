/**
 * What the HTTPS servers of the controller manager and the scheduler serve: metrics, health checks and configuration.
 * The same for components in the process of a cluster and for processes of their own.
 */
import type { MetricsRegistry } from '#/base/metrics.ts'
import type { HealthCheck } from '#/component-base/health-checks.ts'
import type { SecureServerOptions } from '#/component-base/secure-server.ts'
import type { Scheduler } from '#/scheduler/scheduler.ts'

export type ComponentPart = Pick<SecureServerOptions, 'metrics' | 'moreMetrics' | 'health' | 'configz'>

/** The usual secure ports of Kubernetes. */
export const controllerManagerPort = 10_257
export const schedulerPort = 10_259

export interface ControllerManagerPartOptions {
  /** Names of the controllers. */
  readonly controllers: readonly string[]
  readonly metrics: MetricsRegistry
  /** The section `Generic` of KubeControllerManagerConfiguration, without `Controllers`. */
  readonly generic: Readonly<Record<string, unknown>>
  /** Of the leader election, if there is one. */
  readonly checks?: readonly HealthCheck[]
}

export function controllerManagerPart(options: ControllerManagerPartOptions): ComponentPart {
  const { controllers, metrics, generic, checks = [] } = options
  return {
    metrics,
    health: {
      healthz: [...checks, ...controllers.map(name => ({ name, check: () => undefined }))],
      livez: [],
      readyz: checks,
    },
    configz: () => ({
      'kubecontrollermanager.config.k8s.io': { Generic: { ...generic, Controllers: controllers } },
    }),
  }
}

export interface SchedulerPartOptions {
  readonly scheduler: Scheduler
  readonly metrics: MetricsRegistry
  readonly stopping: AbortSignal
  /** Further fields of KubeSchedulerConfiguration. */
  readonly configuration?: Readonly<Record<string, unknown>>
  /** Of the leader election, if there is one. */
  readonly checks?: readonly HealthCheck[]
  /** False while a standby leaves its caches empty. */
  readonly isStarted?: () => boolean
}

export function schedulerPart(options: SchedulerPartOptions): ComponentPart {
  const { scheduler, metrics, stopping, configuration = {}, checks = [], isStarted = () => true } = options
  const shutdown = (): string | undefined => (stopping.aborted ? 'process is shutting down' : undefined)
  const handlerSync = (): string | undefined =>
    scheduler.hasSynced || !isStarted() ? undefined : 'waiting for handlers to sync'
  return {
    metrics,
    moreMetrics: { '/metrics/resources': scheduler.podResourceMetrics() },
    health: {
      healthz: checks,
      livez: [],
      readyz: [
        ...checks,
        { name: 'shutdown', check: shutdown },
        { name: 'sched-handler-sync', check: handlerSync },
      ],
    },
    configz: () => ({ componentconfig: { ...scheduler.configuration, ...configuration } }),
  }
}
