/** Injects random faults between a client and a correct API server. */
import { expired, serviceUnavailable, tooManyRequests } from '#/api/errors.ts'
import type { ApiRequest, ApiResponse, StreamChunk } from '#/api/transport.ts'
import type { Clock, Random } from '#/platform/platform.ts'
import { TransportError } from '#/client/transport.ts'

export const requestFaults = ['refuse', 'busy', 'unavailable', 'lose-answer', 'stall', 'delay'] as const
export const streamFaults = [
  'end',
  'break',
  'stall',
  'repeat',
  'old',
  'delay',
  'invalid-response',
  'gone',
] as const

export type RequestFault = (typeof requestFaults)[number]
export type StreamFault = (typeof streamFaults)[number]

export interface FaultOptions {
  readonly clock: Clock
  readonly random: Random
  readonly requestFaults: readonly RequestFault[]
  readonly streamFaults: readonly StreamFault[]
  /** Probability of a fault per request and per stream batch; mutable during a test. */
  chance: number
}

type Handle = (request: ApiRequest) => Promise<ApiResponse>

export function faultyTransport(handle: Handle, faults: FaultOptions): Handle {
  return async request => {
    switch (draw(faults, 'request', faults.requestFaults)) {
      case 'refuse':
        throw new TransportError('unreachable', 'connection refused', { sent: false })
      case 'busy':
        return {
          ...valueResponse(tooManyRequests('busy', 1).status, 429),
          headers: { 'retry-after': '1' },
        }
      case 'unavailable':
        return valueResponse(serviceUnavailable('not ready').status, 503)
      case 'lose-answer':
        await handle(request)
        throw new TransportError('interrupted', 'response lost')
      case 'stall':
        return never()
      case 'delay':
        await faults.clock.sleep(faults.random.integer('delay', 8_000))
        break
      case undefined:
        break
    }
    const response = await handle(request)
    if (response.body?.type !== 'stream') return response
    return { ...response, body: { ...response.body, chunks: withStreamFaults(response.body.chunks, faults) } }
  }
}

async function* withStreamFaults(
  source: AsyncIterable<readonly StreamChunk[]>,
  faults: FaultOptions,
): AsyncGenerator<readonly StreamChunk[], void, undefined> {
  const sent: StreamChunk[] = []
  for await (const batch of source) {
    const [head, tail] = halves(batch, faults.random)
    switch (draw(faults, 'stream', faults.streamFaults)) {
      case 'end':
        return yield head
      case 'break':
        yield head
        throw new TransportError('interrupted', 'connection broken')
      case 'stall':
        yield head
        return never()
      case 'repeat':
        yield [...head, ...head, ...tail, ...batch]
        break
      case 'old':
        yield sent.slice(-5)
        yield batch
        break
      case 'delay':
        await faults.clock.sleep(faults.random.integer('delay', 8_000))
        yield batch
        break
      case 'invalid-response':
        yield [...head, garbage(faults.random), ...tail]
        return never()
      case 'gone':
        return yield [...head, chunkOf('ERROR', expired('too old').status)]
      case undefined:
        yield batch
    }
    // Bookmarks are not replayed: one marks the end of a streaming list.
    sent.push(...batch.filter(({ value }) => (value as { type: string }).type !== 'BOOKMARK'))
  }
}

function draw<T>({ chance, random }: FaultOptions, label: string, faults: readonly T[]): T | undefined {
  if (faults.length === 0 || random.fraction(label) >= chance) return undefined
  return faults[random.integer(`kind of ${label}`, faults.length)]
}

function halves<T>(batch: readonly T[], random: Random): [readonly T[], readonly T[]] {
  const at = random.integer('where', batch.length + 1)
  return [batch.slice(0, at), batch.slice(at)]
}

const garbageValues: readonly unknown[] = [
  null,
  42,
  'text',
  [],
  {},
  { type: 'ADDED' },
  { __proto__: null, type: 'ERROR' },
  { type: 'WHAT', object: { metadata: { name: 'x', resourceVersion: '1' } } },
  { type: 'MODIFIED', object: { metadata: { name: 'x' } } },
  { type: 'ADDED', object: { metadata: { resourceVersion: '9' } } },
]

function garbage(random: Random): StreamChunk {
  const value = garbageValues[random.integer('invalid-response', garbageValues.length)]
  return { value, bytes: () => Buffer.from(`${JSON.stringify(value)}\n`) }
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}

/** A synthetic response of the API server. */
export function valueResponse(value: object, status: number): ApiResponse {
  const bytes = (): readonly Uint8Array[] => [Buffer.from(JSON.stringify(value))]
  return { status, body: { type: 'value', mediaType: 'application/json', value, bytes } }
}

export function chunkOf(type: string, object: object): StreamChunk {
  const value = { type, object }
  return { value, bytes: () => Buffer.from(`${JSON.stringify(value)}\n`) }
}
