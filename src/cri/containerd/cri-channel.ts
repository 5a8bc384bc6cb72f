import { ProtobufError } from '#/base/protobuf.ts'
import { GrpcError, type GrpcChannel, type GrpcCode } from '#/platform/grpc.ts'
import { CriError, type CallOptions, type CriErrorReason } from '../cri.ts'
import type { Method } from './methods.ts'

/** Typed calls to a runtime. What fails is CriError, or the reason of the caller's signal. */
export class CriChannel {
  readonly #channel: GrpcChannel

  constructor(channel: GrpcChannel) {
    this.#channel = channel
  }

  /** Takes no longer than the caller says, or else than a runtime is usually given. */
  async call<In, Out>(method: Method<In, Out>, request: In, options: CallOptions = {}): Promise<Out> {
    const { signal, timeoutMs = usualTimeoutMs } = options
    const bytes = method.request.encode(request)
    // No bound at all is told by infinity, which gRPC has no word for.
    const bound = Number.isFinite(timeoutMs) ? { timeoutMs } : {}
    try {
      const answer = await this.#channel.unary(method.name, bytes, { ...bound, ...(signal && { signal }) })
      return method.response.decode(answer)
    } catch (error) {
      throw criErrorOf(error, method.name)
    }
  }

  /** Like `call`; undefined when the runtime does not know what the request is about. */
  async find<In, Out>(method: Method<In, Out>, request: In, options?: CallOptions): Promise<Out | undefined> {
    try {
      return await this.call(method, request, options)
    } catch (error) {
      if (error instanceof CriError && error.reason === 'not-found') return undefined
      throw error
    }
  }
}

/** What kubelets give a runtime for a request. */
export const usualTimeoutMs = 120_000

function criErrorOf(error: unknown, method: string): unknown {
  if (error instanceof ProtobufError)
    return new CriError('failed', `the container runtime answers ${method} with garbage`, { cause: error })
  if (!(error instanceof GrpcError)) return error
  // A runtime that our deadline caught in the middle of something may tell of it as of an error of its own.
  const isLate = error.details.includes('context deadline exceeded')
  const reason = reasons[error.code] ?? (isLate ? 'timeout' : 'failed')
  return new CriError(reason, textOf(error, method), { cause: error })
}

/** What the runtime said; where it said nothing, in words that need no knowledge of gRPC. */
function textOf({ code, details }: GrpcError, method: string): string {
  const name = method.replace(/^.*\//, '')
  // Our own deadline speaks with a capital letter and of sockets; a runtime's begins with `context`.
  if (code === 'deadline-exceeded' && !details.includes('context deadline exceeded'))
    return `the container runtime has not answered ${name} in time`
  if (code === 'unavailable') return `the container runtime does not answer ${name}: ${details}`
  return details || `the container runtime refuses ${name}: ${code}`
}

const reasons: Partial<Record<GrpcCode, CriErrorReason>> = {
  'not-found': 'not-found',
  'unavailable': 'unavailable',
  // The channel was closed while the call was under way.
  'cancelled': 'unavailable',
  'deadline-exceeded': 'timeout',
  'unimplemented': 'unsupported',
}
