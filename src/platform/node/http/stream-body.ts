import type { Readable } from 'node:stream'
import { HttpBodyError, type HttpBodyErrorReason } from '../../http.ts'

export interface StreamBodyOptions {
  /** Timeout for each piece. */
  readonly timeoutMs: number
  /** Called at the end: a disconnect by the client may look like the end of the body. */
  readonly isWhole: () => boolean
}

/**
 * Reads a body piece by piece. On failure the source is left paused; the caller decides what happens to the
 * rest.
 */
export async function* streamBody(
  source: Readable,
  { timeoutMs, isWhole }: StreamBodyOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const pieces: Buffer[] = []
  const end: { state?: 'whole' | HttpBodyErrorReason } = source.destroyed ? { state: 'aborted' } : {}
  let wake: () => void = () => undefined
  const become = (state: 'whole' | HttpBodyErrorReason): void => {
    end.state ??= state
    wake()
  }
  const onData = (piece: Buffer): void => {
    source.pause()
    pieces.push(piece)
    wake()
  }
  const onEnd = (): void => become(isWhole() ? 'whole' : 'aborted')
  const onAborted = (): void => become('aborted')
  source.on('data', onData).on('end', onEnd).on('error', onAborted).on('close', onAborted)
  try {
    for (;;) {
      const piece = pieces.shift()
      if (piece !== undefined) yield piece
      else if (end.state === 'whole') return
      else if (end.state !== undefined) throw new HttpBodyError(end.state)
      else {
        const change = new Promise<void>(resolve => {
          wake = resolve
        })
        const timeout = setTimeout(become, timeoutMs, 'too-slow')
        source.resume()
        await change
        clearTimeout(timeout)
      }
    }
  } finally {
    source.off('data', onData).off('end', onEnd).off('error', onAborted).off('close', onAborted)
    source.pause()
  }
}
