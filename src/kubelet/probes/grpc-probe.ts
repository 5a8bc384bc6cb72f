import { formatDurationMs } from '#/api/text/duration.ts'
import { quote } from '#/api/text/quote.ts'
import { message } from '#/base/protobuf.ts'
import { GrpcError, type GrpcCode, type GrpcConnect } from '#/platform/grpc.ts'
import { hostAndPort } from './network-failure.ts'
import type { ProbeOutcome } from './run-probe.ts'
import type { Limits } from './with-timeout.ts'

export interface GrpcProbe extends Limits {
  readonly host: string
  readonly port: number
  readonly service: string
}

/** https://github.com/grpc/grpc/blob/master/doc/health-checking.md */
const checkMethod = '/grpc.health.v1.Health/Check'
const checkRequest = message({ service: [1, 'string'] })
const checkResponse = message({ status: [1, 'int32'] })
const statuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']

const answerBytesMax = 10 * 1_024

export async function probeGrpc(connect: GrpcConnect, probe: GrpcProbe): Promise<ProbeOutcome> {
  const { host, port, service, timeoutMs, signal } = probe
  const target = hostAndPort(host, port)
  await using channel = connect({
    targets: [target],
    connectTimeoutMs: timeoutMs,
    receivedBytesMax: answerBytesMax,
  })
  try {
    const bytes = await channel.unary(checkMethod, checkRequest.encode({ service }), { timeoutMs, signal })
    const { status } = checkResponse.decode(bytes)
    const name = statuses[status] ?? String(status)
    if (name === 'SERVING') return { type: 'success', output: 'service healthy' }
    return { type: 'failure', output: `service unhealthy (responded with ${quote(name)})` }
  } catch (error) {
    signal.throwIfAborted()
    return { type: 'failure', output: failureText(error, target, timeoutMs) }
  }
}

function failureText(error: unknown, target: string, timeoutMs: number): string {
  const time = formatDurationMs(timeoutMs)
  if (!(error instanceof GrpcError)) return `error: health rpc probe failed: ${String(error)}`
  const { code, details, sent } = error
  if (!sent && (code === 'unavailable' || code === 'deadline-exceeded')) {
    return `timeout: failed to connect service ${quote(target)} within ${time}: context deadline exceeded`
  }
  if (code === 'deadline-exceeded') return `timeout: health rpc did not complete within ${time}`
  if (code === 'unimplemented') {
    return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`
  }
  return `error: health rpc probe failed: rpc error: code = ${camelCase(code)} desc = ${details}`
}

/** Converts `permission-denied` to `PermissionDenied`. */
function camelCase(code: GrpcCode): string {
  return code.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
