import type { IncomingHttpHeaders } from 'node:http2'
import type { Readable } from 'node:stream'
import { HttpBodyError, type HttpBodyErrorReason } from '../../http.ts'

export interface ReadBodyOptions {
  readonly limitBytes: number
  readonly timeoutMs: number
  /** Asked at the end: a client that gave up may look like one that has sent all. */
  readonly isWhole: () => boolean
}

/**
 * Reads to the end. A source that is given up stays as it is, paused: whoever asked decides what becomes of
 * the rest.
 */
export function readBody(source: Readable, options: ReadBodyOptions): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const { limitBytes, timeoutMs, isWhole } = options
    const chunks: Buffer[] = []
    let sizeBytes = 0
    const done = (): void => {
      clearTimeout(timeout)
      source.off('data', onData).off('end', onEnd).off('error', onAborted).off('close', onAborted)
    }
    const fail = (reason: HttpBodyErrorReason): void => {
      done()
      source.pause()
      reject(new HttpBodyError(reason))
    }
    const onData = (chunk: Buffer): void => {
      sizeBytes += chunk.length
      if (sizeBytes > limitBytes) fail('too-large')
      else chunks.push(chunk)
    }
    const onEnd = (): void => {
      if (!isWhole()) return fail('aborted')
      done()
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, sizeBytes))
    }
    const onAborted = (): void => fail('aborted')
    const timeout = setTimeout(fail, timeoutMs, 'too-slow')
    source.on('data', onData).on('end', onEnd).on('error', onAborted).on('close', onAborted)
  })
}

/**
 * A length that is declared beyond the limit need not be read. Undefined when none is declared, or no number.
 */
export function declaredBytes(headers: IncomingHttpHeaders): number | undefined {
  const declared = headers['content-length']
  const bytes = declared === undefined ? Number.NaN : Number(declared)
  return Number.isNaN(bytes) ? undefined : bytes
}
