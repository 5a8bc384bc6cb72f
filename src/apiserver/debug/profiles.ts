/**
 * `/debug/pprof/`: profiles of this process in V8's formats, which Chrome's developer tools open. One profile is taken
 * at a time.
 */
import { badRequest } from '#/api/errors.ts'
import type { Profiler } from '#/platform/profiler.ts'
import type { ApiRequest, ApiResponse, StreamChunk } from '../request.ts'
import { textResponse } from './text-response.ts'

export class Profiles {
  readonly #profiler: Profiler
  #isTaking = false

  constructor(profiler: Profiler) {
    this.#profiler = profiler
  }

  /** Undefined for other paths. Rejects with ApiError. */
  async answer(request: ApiRequest): Promise<ApiResponse | undefined> {
    const { path, query, signal } = request
    if (!path.startsWith(root)) return undefined
    switch (path.slice(root.length)) {
      case '':
        return textResponse(index)
      case 'profile': {
        const durationMs = secondsOf(query, 30) * 1_000
        return this.#alone(async () =>
          attachment('profile.cpuprofile', await this.#profiler.cpuProfile({ durationMs, signal })),
        )
      }
      case 'heap': {
        const durationMs = secondsOf(query, 10) * 1_000
        return this.#alone(async () =>
          attachment('heap.heapprofile', await this.#profiler.heapProfile({ durationMs, signal })),
        )
      }
      case 'heapsnapshot':
        return this.#snapshot()
      default:
        return textResponse('Unknown profile\n', 404)
    }
  }

  async #alone(take: () => Promise<ApiResponse>): Promise<ApiResponse> {
    if (this.#isTaking) return inUse
    this.#isTaking = true
    try {
      return await take()
    } finally {
      this.#isTaking = false
    }
  }

  #snapshot(): ApiResponse {
    if (this.#isTaking) return inUse
    this.#isTaking = true
    const pieces = this.#profiler.heapSnapshot()
    const finish = (): void => {
      this.#isTaking = false
    }
    const chunks = async function* (): AsyncGenerator<readonly StreamChunk[], void, undefined> {
      try {
        for await (const piece of pieces) yield [{ value: piece, bytes: () => piece }]
      } finally {
        finish()
      }
    }
    return {
      status: 200,
      headers: dispositionOf('heap.heapsnapshot'),
      body: { type: 'stream', mediaType: 'application/octet-stream', isForwarded: true, chunks: chunks() },
    }
  }
}

const root = '/debug/pprof/'

const index = `/debug/pprof/

profile?seconds=30     CPU profile (.cpuprofile)
heap?seconds=10        sampling heap profile of what is allocated in this time (.heapprofile)
heapsnapshot           heap snapshot (.heapsnapshot); stops the process for a second per gigabyte, or longer
`

const inUse = textResponse('Could not enable profiling: profiling already in use\n', 500)

/** Profiles grow with their duration. */
const secondsMax = 120

function secondsOf(query: URLSearchParams, defaultSeconds: number): number {
  const given = query.get('seconds')
  if (given === null) return defaultSeconds
  const seconds = Number(given)
  if (seconds > 0 && seconds <= secondsMax) return seconds
  throw badRequest(`seconds must be over 0 and at most ${secondsMax}`)
}

function attachment(name: string, text: string): ApiResponse {
  const bytes = (): Uint8Array[] => [Buffer.from(text)]
  return {
    status: 200,
    headers: dispositionOf(name),
    body: { type: 'value', mediaType: 'application/octet-stream', value: text, bytes },
  }
}

function dispositionOf(name: string): Readonly<Record<string, string>> {
  return {
    'content-disposition': `attachment; filename="${name}"`,
    'x-content-type-options': 'nosniff',
  }
}
