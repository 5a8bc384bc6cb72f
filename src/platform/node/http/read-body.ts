import type { IncomingHttpHeaders } from 'node:http2'
import type { Readable } from 'node:stream'
import { HttpBodyError, type HttpBodyErrorReason } from '../../http.ts'

export interface ReadBodyOptions {
  readonly limitBytes: number
  readonly timeoutMs: number
  /** Called at the end: a disconnect by the client may look like the end of the body. */
  readonly isWhole: () => boolean
}

/** Reads to the end. On failure the source is left paused; the caller decides what happens to the rest. */
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

/** The `content-length`, so that an oversized body need not be read. Undefined if absent or not a number. */
export function declaredBytes(headers: IncomingHttpHeaders): number | undefined {
  const declared = headers['content-length']
  const bytes = declared === undefined ? Number.NaN : Number(declared)
  return Number.isNaN(bytes) ? undefined : bytes
}
