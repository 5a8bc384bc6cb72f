/** Decides which API server gets a connection, and when an API server is dead. */

/** A `last-resort` is an address from the time of joining that is not in the list of API servers. */
export type BackendRole = 'server' | 'last-resort'

export interface BackendState {
  readonly address: string
  readonly role: BackendRole
  /** False from a failed attempt to connect until a successful one. */
  readonly isHealthy: boolean
  /** When a backend that is not healthy is tried again, on the monotonic clock. */
  readonly retryMs: number
  /** Established and being established. */
  readonly connectionCount: number
  /** Random, so that not all hosts choose the same API server first. */
  readonly tieBreak: number
}

export interface Choice {
  readonly preferred?: string | undefined
  /** Addresses that have failed for this client connection. */
  readonly tried: ReadonlySet<string>
}

/**
 * Healthy API servers first, of these the preferred one, then the one with the least connections. Backends that are
 * not healthy are tried when no other is left, although their pause has not passed: the client would get an error
 * otherwise. Undefined if all have been tried.
 */
export function chooseBackend(
  backends: readonly BackendState[],
  { preferred, tried }: Choice,
): BackendState | undefined {
  const rank = (backend: BackendState): readonly number[] => [
    backend.role === 'server' ? 0 : 1,
    backend.isHealthy ? 0 : 1,
    backend.isHealthy ? 0 : backend.retryMs,
    backend.address === preferred ? 0 : 1,
    backend.connectionCount,
    backend.tieBreak,
  ]
  let best: BackendState | undefined
  let bestRank: readonly number[] = []
  for (const backend of backends) {
    if (tried.has(backend.address)) continue
    const itsRank = rank(backend)
    if (best !== undefined && compareRanks(itsRank, bestRank) >= 0) continue
    best = backend
    bestRank = itsRank
  }
  return best
}

function compareRanks(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((value, index) => value !== right[index])
  return at === -1 ? 0 : left[at]! - right[at]!
}

/**
 * Refused: the host answers, but no process accepts connections. An API server that stops gracefully refuses new
 * connections while it completes requests, and the kernel of the host resets the connections of a process that was
 * killed. Unknown: the attempt has failed on this host, for example because of the limit of open files.
 */
export type ProbeResult = 'connected' | 'refused' | 'unreachable' | 'unknown'

export interface ProbePlan {
  /** The open connections are closed. */
  readonly isDead: boolean
  /** Pause before the next probe. */
  readonly delayMs: number
}

/** `failedProbes` counts the consecutive failed probes up to this one. */
export function planProbe(result: ProbeResult, failedProbes: number): ProbePlan {
  switch (result) {
    case 'connected':
    case 'unknown':
      return { isDead: false, delayMs: probeIntervalMs }
    case 'refused':
      return { isDead: failedProbes >= refusedProbesMax, delayMs: probeIntervalMs }
    case 'unreachable':
      return { isDead: failedProbes >= unreachableProbesMax, delayMs: unreachablePauseMs }
  }
}

/** What a failure to connect says about the API server. */
export function probeResultOf(error: unknown): ProbeResult {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET') return 'refused'
  return localErrors.has(code) ? 'unknown' : 'unreachable'
}

/** Open files, memory and ports of this host are used up. */
const localErrors: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL'])

/** Time without data from an API server with open connections after which it is probed. */
export const probeIntervalMs = 3_000

/**
 * Timeout of each attempt to connect, longer than the second after which the kernel repeats a lost SYN. A host that
 * was cut off is noticed after the interval and the timeouts of two probes.
 */
export const connectTimeoutMs = 2_000

const unreachableProbesMax = 2

/** Short, but long enough that a host without a route does not cause a busy loop. */
const unreachablePauseMs = 500

/** A minute: the time that a stopping kube-apiserver has for its requests. */
const refusedProbesMax = 20
