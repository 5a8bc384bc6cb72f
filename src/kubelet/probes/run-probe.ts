import type { Container, Probe } from '#/api/generated/core/v1.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Network, Platform } from '#/platform/platform.ts'
import type { RunningContainer } from '../probes.ts'
import { probeExec } from './exec-probe.ts'
import { probeGrpc } from './grpc-probe.ts'
import { probeHttp } from './http-probe.ts'
import { hostAndPort, networkFailure } from './network-failure.ts'
import { TimeoutError, withTimeout, type Limits } from './with-timeout.ts'

/** Dependencies of probes. */
export interface ProbeDependencies {
  readonly platform: Platform
  readonly runtime: Pick<ContainerRuntime, 'execSync'>
  readonly connectHttp: HttpConnect
  readonly connectGrpc: () => Promise<GrpcConnect>
  readonly network: Pick<Network, 'connect'>
}

export interface ProbeRequest {
  readonly probe: Probe
  readonly container: Container
  readonly running: RunningContainer
  readonly signal: AbortSignal
}

/** `warning` counts as success. */
export interface ProbeOutcome {
  readonly type: 'success' | 'warning' | 'failure'
  readonly output: string
}

/** Runs a probe once. Throws if the probe cannot be executed. */
export async function runProbe(
  dependencies: ProbeDependencies,
  request: ProbeRequest,
): Promise<ProbeOutcome> {
  const { probe, container, running, signal } = request
  const { exec, httpGet, tcpSocket, grpc, timeoutSeconds = 1 } = probe
  const { address, id } = running
  const limits = { clock: dependencies.platform.clock, timeoutMs: timeoutSeconds * 1_000, signal }
  if (exec) return probeExec(dependencies.runtime, { id, container, command: exec.command ?? [], ...limits })
  if (httpGet) {
    const port = containerPort(httpGet.port, container)
    return probeHttp(dependencies.connectHttp, {
      action: httpGet,
      host: httpGet.host || address,
      port,
      ...limits,
    })
  }
  if (tcpSocket) {
    const port = containerPort(tcpSocket.port, container)
    return probeTcp(dependencies.network, { host: tcpSocket.host || address, port, ...limits })
  }
  if (grpc) {
    const connect = await dependencies.connectGrpc()
    return probeGrpc(connect, { host: address, port: grpc.port, service: grpc.service ?? '', ...limits })
  }
  throw new Error(`missing probe handler for ${container.name}`)
}

/** Resolves a port number or a named container port. Throws if it does not exist. */
function containerPort(port: number | string, { ports = [] }: Container): number {
  const number = typeof port === 'number' ? port : ports.find(({ name }) => name === port)?.containerPort
  if (number === undefined) throw new Error(`port ${JSON.stringify(port)} not found`)
  if (number > 0 && number < 65_536) return number
  throw new Error(`invalid port number: ${number}`)
}

interface TcpProbe extends Limits {
  readonly host: string
  readonly port: number
}

/** Succeeds if a connection can be opened; sends nothing. */
async function probeTcp(network: Pick<Network, 'connect'>, probe: TcpProbe): Promise<ProbeOutcome> {
  const { host, port, signal } = probe
  try {
    const connection = await withTimeout(probe, limit => network.connect({ host, port }, limit))
    connection.destroy()
    return { type: 'success', output: '' }
  } catch (error) {
    signal.throwIfAborted()
    const isLate = error instanceof TimeoutError
    const output = isLate
      ? `dial tcp ${hostAndPort(host, port)}: i/o timeout`
      : networkFailure(error, host, port)
    return { type: 'failure', output }
  }
}
