import type { Network } from '#/platform/platform.ts'
import { hostAndPort, networkFailure } from './network-failure.ts'
import type { ProbeAnswer } from './run-probe.ts'
import { LateError, within, type Limits } from './within.ts'

export interface TcpProbe extends Limits {
  readonly host: string
  readonly port: number
}

/** Succeeds if a connection can be opened; sends nothing. */
export async function probeTcp(network: Pick<Network, 'connect'>, probe: TcpProbe): Promise<ProbeAnswer> {
  const { host, port, signal } = probe
  try {
    const connection = await within(probe, limit => network.connect({ host, port }, limit))
    connection.destroy()
    return { type: 'success', output: '' }
  } catch (error) {
    signal.throwIfAborted()
    const isLate = error instanceof LateError
    const output = isLate
      ? `dial tcp ${hostAndPort(host, port)}: i/o timeout`
      : networkFailure(error, host, port)
    return { type: 'failure', output }
  }
}
