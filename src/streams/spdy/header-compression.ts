/**
 * Blocks of headers go through one zlib stream for each direction of a connection. Ours are stored in it as they are:
 * they are a few dozen bytes, and a stream that compresses nothing needs no state.
 */
import { createInflate, type Inflate } from 'node:zlib'
import { headerDictionary, headerDictionaryId } from './header-dictionary.ts'
import { SpdyError } from './spdy-error.ts'

/** Of one block: what is larger ends the connection, however small it was when it came. */
export const headerBytesMax = 64 * 1024

/** The most that a stored block of deflate holds (RFC 1951, 3.2.4). */
const storedBytesMax = 65_535

export class HeaderWriter {
  #isBegun = false

  write(block: Uint8Array): Uint8Array {
    const pieces: Uint8Array[] = []
    if (!this.#isBegun) pieces.push(streamHead())
    this.#isBegun = true
    for (let at = 0; at < block.length; at += storedBytesMax)
      pieces.push(...stored(block.subarray(at, at + storedBytesMax)))
    // An empty one says that everything before it can be used.
    pieces.push(...stored(new Uint8Array()))
    return Buffer.concat(pieces)
  }
}

/** Deflate with a window of 32 KiB and the dictionary (RFC 1950). */
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

  /** Throws SpdyError when the block cannot be decompressed, or is too large. One at a time. */
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
      // Whatever is left is given to who listens.
      inflate.read()
      if (sizeBytes > headerBytesMax) throw new Error('too large')
    } catch (cause) {
      throw new SpdyError(`headers do not decompress: ${(cause as Error).message}`)
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
  // Whoever waits for a block learns of an error; unheard it would end the process.
  return createInflate({ dictionary: headerDictionary }).on('error', () => undefined)
}
