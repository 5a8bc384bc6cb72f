import { ProtobufError } from '#/base/protobuf.ts'
import { GrpcError, type GrpcChannel, type GrpcCode } from '#/platform/grpc.ts'
import { CriError, type CallOptions, type CriErrorReason } from '../cri.ts'
import type { Method } from './methods.ts'

/** Typed CRI calls. They reject with CriError or with the abort reason of the caller's signal. */
export class CriChannel {
  readonly #channel: GrpcChannel
  readonly #requestTimeoutMs: number

  constructor(channel: GrpcChannel, requestTimeoutMs: number) {
    this.#channel = channel
    this.#requestTimeoutMs = requestTimeoutMs
  }

  /** The timeout defaults to the runtime request timeout. */
  async call<In, Out>(method: Method<In, Out>, request: In, options: CallOptions = {}): Promise<Out> {
    const { signal, timeoutMs = this.#requestTimeoutMs } = options
    const bytes = method.request.encode(request)
    // `Infinity` means no deadline, which gRPC expresses by omitting it.
    const bound = Number.isFinite(timeoutMs) ? { timeoutMs } : {}
    try {
      const answer = await this.#channel.unary(method.name, bytes, { ...bound, ...(signal && { signal }) })
      return method.response.decode(answer)
    } catch (error) {
      throw criErrorOf(error, method.name)
    }
  }

  /** Like `call`, but returns undefined on `not-found`. */
  async find<In, Out>(method: Method<In, Out>, request: In, options?: CallOptions): Promise<Out | undefined> {
    try {
      return await this.call(method, request, options)
    } catch (error) {
      if (error instanceof CriError && error.reason === 'not-found') return undefined
      throw error
    }
  }
}

function criErrorOf(error: unknown, method: string): unknown {
  if (error instanceof ProtobufError)
    return new CriError('failed', `malformed response of the container runtime to ${method}`, {
      cause: error,
    })
  if (!(error instanceof GrpcError)) return error
  // When our deadline interrupts a runtime operation, the runtime may report it as an ordinary failure.
  const isLate = error.details.includes('context deadline exceeded')
  const reason = reasons[error.code] ?? (isLate ? 'timeout' : 'failed')
  return new CriError(reason, textOf(error, method), { cause: error })
}

/** The runtime's error message, or a readable text when it is empty or comes from the gRPC library. */
function textOf({ code, details }: GrpcError, method: string): string {
  const name = method.replace(/^.*\//, '')
  // Messages of our own deadline describe the connection; a runtime's contain `context deadline exceeded`.
  if (code === 'deadline-exceeded' && !details.includes('context deadline exceeded'))
    return `${name} timed out`
  if (code === 'unavailable') return `container runtime unavailable for ${name}: ${details}`
  return details || `container runtime rejected ${name}: ${code}`
}

const reasons: Partial<Record<GrpcCode, CriErrorReason>> = {
  'not-found': 'not-found',
  'unavailable': 'unavailable',
  // The channel was closed during the call.
  'cancelled': 'unavailable',
  'deadline-exceeded': 'timeout',
  'unimplemented': 'unsupported',
}
