/** The server name in the first message of a TLS client (RFC 8446 and RFC 6066), which is sent in clear. */

export type ClientHello =
  /** More bytes are needed. */
  | { readonly type: 'incomplete' }
  /** Not TLS. */
  | { readonly type: 'malformed' }
  | { readonly type: 'complete'; readonly serverName: string | undefined }

/** A larger message is refused. */
export const clientHelloBytesMax = 16 * 1024

export function parseClientHello(bytes: Uint8Array): ClientHello {
  const message = handshakeOf(bytes)
  if (message === undefined) return { type: 'malformed' }
  if (message.length < 4) return { type: 'incomplete' }
  if (message[0] !== clientHelloType) return { type: 'malformed' }
  const reader = new Reader(message.subarray(1))
  const body = reader.vector(3)
  if (body === undefined) return { type: 'incomplete' }
  body.skip(versionBytes + randomBytes)
  if (body.vector(1) === undefined || body.vector(2) === undefined || body.vector(1) === undefined)
    return { type: 'malformed' }
  const extensions = body.vector(2)
  return { type: 'complete', serverName: extensions && serverNameIn(extensions) }
}

/**
 * The handshake message, which may be split over records; undefined if the records are not of a handshake.
 */
function handshakeOf(bytes: Uint8Array): Uint8Array | undefined {
  const parts: Uint8Array[] = []
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] !== handshakeRecord || (at + 1 < bytes.length && bytes[at + 1] !== 3)) return undefined
    if (at + recordHeaderBytes > bytes.length) break
    const length = (bytes[at + 3]! << 8) | bytes[at + 4]!
    parts.push(bytes.subarray(at + recordHeaderBytes, at + recordHeaderBytes + length))
    at += recordHeaderBytes + length
  }
  return Buffer.concat(parts)
}

function serverNameIn(extensions: Reader): string | undefined {
  for (;;) {
    const type = extensions.number(2)
    const data = extensions.vector(2)
    if (type === undefined || data === undefined) return undefined
    if (type !== serverNameExtension) continue
    const names = data.vector(2)
    for (let kind = names?.number(1); kind !== undefined; kind = names?.number(1)) {
      const name = names?.vector(2)
      if (kind === 0 && name) return name.text().toLowerCase()
    }
    return undefined
  }
}

const handshakeRecord = 22
const recordHeaderBytes = 5
const clientHelloType = 1
const versionBytes = 2
const randomBytes = 32
const serverNameExtension = 0

class Reader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  skip(count: number): void {
    this.#at += count
  }

  number(width: number): number | undefined {
    if (this.#at + width > this.#bytes.length) return undefined
    let value = 0
    for (let index = 0; index < width; index++) value = value * 256 + this.#bytes[this.#at++]!
    return value
  }

  /** Bytes after their length. */
  vector(lengthWidth: number): Reader | undefined {
    const length = this.number(lengthWidth)
    if (length === undefined || this.#at + length > this.#bytes.length) return undefined
    this.#at += length
    return new Reader(this.#bytes.subarray(this.#at - length, this.#at))
  }

  text(): string {
    return Buffer.from(this.#bytes).toString('latin1')
  }
}
