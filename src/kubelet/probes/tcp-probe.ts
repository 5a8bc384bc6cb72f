import type { Network } from '#/platform/platform.ts'
import { hostAndPort, networkFailure } from './network-failure.ts'
import type { ProbeOutcome } from './run-probe.ts'
import { TimeoutError, withTimeout, type Limits } from './with-timeout.ts'

export interface TcpProbe extends Limits {
  readonly host: string
  readonly port: number
}

/** Succeeds if a connection can be opened; sends nothing. */
export async function probeTcp(network: Pick<Network, 'connect'>, probe: TcpProbe): Promise<ProbeOutcome> {
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
