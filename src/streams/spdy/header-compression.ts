/**
 * Header blocks pass through one zlib stream per direction. Ours are stored uncompressed: they are a few
 * dozen bytes, and no compressor state is needed.
 */
import { createInflate, type Inflate } from 'node:zlib'
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

/** Preset compression dictionary of SPDY/3 headers (SPDY protocol, draft 3.1, 2.6.10.1). */
const words = [
  'options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language',
  'accept-ranges|age|allow|authorization|cache-control|connection|content-base|content-encoding',
  'content-language|content-length|content-location|content-md5|content-range|content-type|date|etag',
  'expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since',
  'last-modified|location|max-forwards|pragma|proxy-authenticate|proxy-authorization|range|referer',
  'retry-after|server|te|trailer|transfer-encoding|upgrade|user-agent|vary|via|warning|www-authenticate',
  'method|get|status|200 OK|version|HTTP/1.1|url|public|set-cookie|keep-alive|origin',
]

const tail = [
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Au',
  'thoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidd',
  'en404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr Ma',
  'y Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,imag',
  'e/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicpri',
  'vatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.',
]

export const headerDictionary: Uint8Array = Buffer.concat([
  ...words
    .join('|')
    .split('|')
    .map(word => Buffer.concat([Uint8Array.of(0, 0, 0, word.length), Buffer.from(word)])),
  Buffer.from(tail.join('')),
])

/** Adler-32 of the dictionary, which identifies it in a zlib stream (RFC 1950). */
const headerDictionaryId = 0xe3c6a7c2
