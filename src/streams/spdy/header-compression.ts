/**
 * Header blocks pass through one zlib stream per direction. Ours are stored uncompressed: they are a few
 * dozen bytes, and no compressor state is needed.
 */
import { createInflate, type Inflate } from 'node:zlib'
import { headerDictionary, headerDictionaryId } from './header-dictionary.ts'
import { SpdyError } from './spdy-error.ts'

/** Limit of a decompressed block; larger ones end the connection. */
export const headerBytesMax = 64 * 1024

/** Maximum size of a stored deflate block (RFC 1951, 3.2.4). */
const storedBytesMax = 65_535

export class HeaderWriter {
  #isBegun = false

  write(block: Uint8Array): Uint8Array {
    const pieces: Uint8Array[] = []
    if (!this.#isBegun) pieces.push(streamHead())
    this.#isBegun = true
    for (let at = 0; at < block.length; at += storedBytesMax)
      pieces.push(...stored(block.subarray(at, at + storedBytesMax)))
    // An empty stored block flushes the stream (sync flush).
    pieces.push(...stored(new Uint8Array()))
    return Buffer.concat(pieces)
  }
}

/** zlib header: deflate, 32 KiB window, preset dictionary (RFC 1950). */
function streamHead(): Uint8Array {
  const head = Buffer.from([0x78, 0xbb, 0, 0, 0, 0])
  head.writeUInt32BE(headerDictionaryId, 2)
  return head
}

function stored(bytes: Uint8Array): Uint8Array[] {
  const head = Buffer.alloc(5)
  head.writeUInt16LE(bytes.length, 1)
  head.writeUInt16LE(~bytes.length & 0xffff, 3)
  return [head, bytes]
}

export class HeaderReader {
  #inflate: Inflate | undefined
  #isClosed = false

  /** Throws SpdyError if the block is malformed or too large. Calls must not overlap. */
  async read(block: Uint8Array): Promise<Uint8Array> {
    if (this.#isClosed) throw new SpdyError('the connection is closed')
    const inflate = (this.#inflate ??= makeInflate())
    const pieces: Uint8Array[] = []
    let sizeBytes = 0
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onData = (piece: Uint8Array): void => {
      sizeBytes += piece.length
      pieces.push(piece)
      if (sizeBytes > headerBytesMax) inflate.destroy()
    }
    const onEnd = (): void => reject(new Error('the stream has ended'))
    inflate.on('data', onData).on('error', reject).on('close', onEnd).on('end', onEnd)
    try {
      inflate.write(block, error => (error ? reject(error) : resolve()))
      await promise
      // Flushes the remaining output to the data listener.
      inflate.read()
      if (sizeBytes > headerBytesMax) throw new Error('too large')
    } catch (cause) {
      throw new SpdyError(`cannot decompress headers: ${(cause as Error).message}`)
    } finally {
      inflate.off('data', onData).off('error', reject).off('close', onEnd).off('end', onEnd)
    }
    return Buffer.concat(pieces)
  }

  close(): void {
    this.#isClosed = true
    this.#inflate?.destroy()
  }
}

function makeInflate(): Inflate {
  // The pending read gets the error; without a listener it would crash the process.
  return createInflate({ dictionary: headerDictionary }).on('error', () => undefined)
}
