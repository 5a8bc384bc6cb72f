/** Routes of the kubelet's server. */
import type { KeyedLimits } from '#/base/keyed-limits.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { PassLog } from '#/client/pass-log.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletMetrics } from '../kubelet-metrics.ts'
import type { KubeletView } from '../kubelet-view.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import {
  showCadvisorMetrics,
  showMetrics,
  showProbeMetrics,
  showResourceMetrics,
  showSliMetrics,
  showSummary,
} from './show-metrics.ts'
import { attach, exec, forwardPorts, run } from './commands.ts'
import { showContainerLog, type ContainerLogs } from './show-container-log.ts'
import { showConfiguration, showHealth, showPasses, showPods, showRunningPods } from './show-node.ts'
import { showNodeLog } from './show-node-log.ts'
import type { Cadvisor } from './cadvisor.ts'
import type { StatsProvider } from './stats.ts'
import type { VolumeStats } from './volume-stats.ts'

/** An authorized request with the dependencies of its handler. */
export interface ServerRequest extends SharedRequest {
  readonly platform: Platform
  readonly linux: Linux
  readonly runtime: ContainerRuntime
  readonly node: KubeletConfiguration
  readonly cadvisor: Cadvisor
  readonly passes: Pick<PassLog, 'list'> | undefined
}

/** The part of a request that handlers use which also serve hollow kubelets. */
export interface SharedRequest {
  readonly platform: Pick<Platform, 'clock' | 'log'>
  readonly runtime: Pick<ContainerRuntime, 'exec' | 'attach' | 'portForward'>
  readonly node: Pick<KubeletConfiguration, 'runtimeRequestTimeoutMs' | 'streamingConnectionIdleTimeoutMs'>
  readonly view: KubeletView
  readonly containerLogs: ContainerLogs
  readonly stats: Pick<StatsProvider, 'summary' | 'usage' | 'resources'>
  readonly volumeStats: Pick<VolumeStats, 'families'>
  readonly metrics: KubeletMetrics
  /** By pod UID. */
  readonly sessionLimits: KeyedLimits
  readonly logLimits: KeyedLimits
  readonly exchange: HttpExchange
  readonly query: URLSearchParams
  /** Path parameters. */
  readonly parameters: Readonly<Record<string, string>>
  /** Aborted when the server stops. */
  readonly signal: AbortSignal
}

/** Responds or takes over the connection. An exception is answered with 500. */
export type ServerHandler<T> = (request: T) => void | Promise<void>

export interface FoundRoute<T> {
  readonly handle: ServerHandler<T>
  readonly parameters: Readonly<Record<string, string>>
}

interface Route<T> {
  readonly methods: readonly string[]
  readonly segments: readonly string[]
  readonly handle: ServerHandler<T>
}

/** `:name` matches one segment, `*name` the rest. */
const sharedRoutes: readonly Route<SharedRequest>[] = [
  route('GET', '/pods', showPods),
  route('GET', '/healthz', showHealth),
  route('GET', '/healthz/:check', showHealth),
  route('GET POST', '/stats/summary', showSummary),
  route('GET', '/metrics', showMetrics),
  route('GET', '/metrics/resource', showResourceMetrics),
  route('GET', '/metrics/slis', showSliMetrics),
  route('GET', '/containerLogs/:namespace/:pod/:container', showContainerLog),
  route('GET POST', '/exec/:namespace/:pod/:container', exec),
  route('GET POST', '/exec/:namespace/:pod/:uid/:container', exec),
  route('GET POST', '/attach/:namespace/:pod/:container', attach),
  route('GET POST', '/attach/:namespace/:pod/:uid/:container', attach),
  route('GET POST', '/portForward/:namespace/:pod', forwardPorts),
  route('GET POST', '/portForward/:namespace/:pod/:uid', forwardPorts),
]

const routes: readonly Route<ServerRequest>[] = [
  ...sharedRoutes,
  route('GET', '/runningpods', showRunningPods),
  route('GET', '/configz', showConfiguration),
  route('GET', '/debug/passes', showPasses),
  route('GET', '/metrics/cadvisor', showCadvisorMetrics),
  route('GET', '/metrics/probes', showProbeMetrics),
  route('GET', '/logs', showNodeLog),
  route('GET', '/logs/*path', showNodeLog),
  route('POST', '/run/:namespace/:pod/:container', run),
  route('POST', '/run/:namespace/:pod/:uid/:container', run),
]

function route<T>(methods: string, path: string, handle: ServerHandler<T>): Route<T> {
  return { methods: methods.split(' '), segments: path.split('/').slice(1), handle }
}

export type RouteResult<T> = FoundRoute<T> | 'not found' | 'not allowed'

/** `path` is decoded. A trailing slash is ignored. */
export function findRoute(method: string, path: string): RouteResult<ServerRequest> {
  return findAmong(routes, method, path)
}

/** The routes of hollow kubelets. */
export function findSharedRoute(method: string, path: string): RouteResult<SharedRequest> {
  return findAmong(sharedRoutes, method, path)
}

function findAmong<T>(among: readonly Route<T>[], method: string, path: string): RouteResult<T> {
  const segments = path.split('/').slice(1)
  if (segments.at(-1) === '') segments.pop()
  let isKnown = false
  for (const { methods, segments: expected, handle } of among) {
    const parameters = match(expected, segments)
    if (parameters === undefined) continue
    if (methods.includes(method)) return { handle, parameters }
    isKnown = true
  }
  return isKnown ? 'not allowed' : 'not found'
}

function match(expected: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  const parameters: Record<string, string> = {}
  for (const [index, name] of expected.entries()) {
    if (name.startsWith('*')) return { ...parameters, [name.slice(1)]: segments.slice(index).join('/') }
    const segment = segments[index]
    if (segment === undefined || segment === '') return undefined
    if (name.startsWith(':')) parameters[name.slice(1)] = segment
    else if (name !== segment) return undefined
  }
  return segments.length === expected.length ? parameters : undefined
}
