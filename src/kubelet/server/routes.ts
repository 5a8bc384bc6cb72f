/** Routes of the kubelet's server. */
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletView } from '../kubelet-view.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import { showCadvisorMetrics, showMetrics, showResourceMetrics, showSummary } from './show-metrics.ts'
import { attach, exec, forwardPorts, run } from './commands.ts'
import { showContainerLog } from './show-container-log.ts'
import { showConfiguration, showHealth, showPods, showRunningPods } from './show-node.ts'
import { showNodeLog } from './show-node-log.ts'
import type { ServerMetrics } from './server-metrics.ts'
import type { SessionLimits } from './session-limits.ts'
import type { StatsProvider } from './stats.ts'

/** An authorized request with the dependencies of its handler. */
export interface ServerRequest {
  readonly platform: Platform
  readonly linux: Linux
  readonly runtime: ContainerRuntime
  readonly node: KubeletConfiguration
  readonly view: KubeletView
  readonly stats: StatsProvider
  readonly metrics: ServerMetrics
  readonly sessionLimits: SessionLimits
  readonly exchange: HttpExchange
  readonly query: URLSearchParams
  /** Path parameters. */
  readonly parameters: Readonly<Record<string, string>>
  /** Aborted when the server stops. */
  readonly signal: AbortSignal
}

/** Responds or takes over the connection. An exception is answered with 500. */
export type ServerHandler = (request: ServerRequest) => void | Promise<void>

export interface FoundRoute {
  readonly handle: ServerHandler
  readonly parameters: Readonly<Record<string, string>>
}

interface Route {
  readonly methods: readonly string[]
  readonly segments: readonly string[]
  readonly handle: ServerHandler
}

/** `:name` matches one segment, `*name` the rest. */
const routes: readonly Route[] = [
  route('GET', '/pods', showPods),
  route('GET', '/runningpods', showRunningPods),
  route('GET', '/healthz', showHealth),
  route('GET', '/healthz/:check', showHealth),
  route('GET', '/configz', showConfiguration),
  route('GET POST', '/stats/summary', showSummary),
  route('GET', '/metrics', showMetrics),
  route('GET', '/metrics/resource', showResourceMetrics),
  route('GET', '/metrics/cadvisor', showCadvisorMetrics),
  route('GET', '/containerLogs/:namespace/:pod/:container', showContainerLog),
  route('GET', '/logs', showNodeLog),
  route('GET', '/logs/*path', showNodeLog),
  route('GET POST', '/exec/:namespace/:pod/:container', exec),
  route('GET POST', '/exec/:namespace/:pod/:uid/:container', exec),
  route('GET POST', '/attach/:namespace/:pod/:container', attach),
  route('GET POST', '/attach/:namespace/:pod/:uid/:container', attach),
  route('GET POST', '/portForward/:namespace/:pod', forwardPorts),
  route('GET POST', '/portForward/:namespace/:pod/:uid', forwardPorts),
  route('POST', '/run/:namespace/:pod/:container', run),
  route('POST', '/run/:namespace/:pod/:uid/:container', run),
]

function route(methods: string, path: string, handle: ServerHandler): Route {
  return { methods: methods.split(' '), segments: path.split('/').slice(1), handle }
}

/** `path` is decoded. A trailing slash is ignored. */
export function findRoute(method: string, path: string): FoundRoute | 'not found' | 'not allowed' {
  const segments = path.split('/').slice(1)
  if (segments.at(-1) === '') segments.pop()
  let isKnown = false
  for (const { methods, segments: expected, handle } of routes) {
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
