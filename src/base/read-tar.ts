/** Reads tar archives as a stream: POSIX ustar and pax, and the extensions of GNU. Archives may be hostile. */

/** An entry of an archive. Names are as in the archive: they may be absolute or contain `..`. */
export interface ReadTarEntry {
  readonly type: 'file' | 'folder' | 'symlink' | 'link' | 'other'
  readonly path: string
  /** Of links. */
  readonly target: string
  readonly mode: number
  /** May be read once, before the next entry. */
  readonly content: AsyncIterable<Uint8Array>
}

/** The archive is not well-formed, or uses more than this reader accepts. */
class TarError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'TarError'
  }
}

/** Ends at the end mark, without reading what follows it. Throws TarError. */
export async function* readTar(
  archive: AsyncIterator<Uint8Array>,
): AsyncGenerator<ReadTarEntry, void, undefined> {
  const input = new TarInput(archive)
  let extension: Extension = {}
  for (;;) {
    const block = await input.block()
    if (block === undefined) return
    const header = parseHeader(block)
    if (header === undefined) return
    if (header.typeFlag === 'g') await input.skip(header.sizeBytes)
    else if ('xLK'.includes(header.typeFlag)) Object.assign(extension, await readExtension(input, header))
    else {
      const sizeBytes = hasContent(header.typeFlag) ? (extension.sizeBytes ?? header.sizeBytes) : 0
      const { path = header.path, target = header.target } = extension
      const content = input.content(sizeBytes)
      yield { type: typeOf(header.typeFlag, path), path, target, mode: header.mode, content }
      await content.return()
      extension = {}
    }
  }
}

const blockBytes = 512

/** Of an extended header, such as that of a long name. */
const extensionBytesMax = 1024 * 1024

interface Extension {
  readonly path?: string
  readonly target?: string
  readonly sizeBytes?: number
}

interface Header {
  readonly path: string
  readonly target: string
  readonly typeFlag: string
  readonly mode: number
  readonly sizeBytes: number
}

function typeOf(typeFlag: string, path: string): ReadTarEntry['type'] {
  if (typeFlag === '5') return 'folder'
  if (typeFlag === '1') return 'link'
  if (typeFlag === '2') return 'symlink'
  if (!'0\u00007'.includes(typeFlag)) return 'other'
  // Before POSIX a slash at the end was the only mark of a folder.
  return path.endsWith('/') ? 'folder' : 'file'
}

function hasContent(typeFlag: string): boolean {
  return !'123456'.includes(typeFlag)
}

/** Undefined for the end mark. */
function parseHeader(block: Buffer): Header | undefined {
  if (block.every(byte => byte === 0)) return undefined
  const sum = block.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 32 : byte), 0)
  if (sum !== numberAt(block, 148, 156)) throw new TarError('archive/tar: invalid tar header')
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? textAt(block, 345, 500) : ''
  const name = textAt(block, 0, 100)
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    target: textAt(block, 157, 257),
    typeFlag: String.fromCharCode(block[156]!),
    mode: numberAt(block, 100, 108) & 0o7777,
    sizeBytes: numberAt(block, 124, 136),
  }
}

function textAt(block: Buffer, start: number, end: number): string {
  const zero = block.indexOf(0, start)
  return block.toString('utf8', start, zero === -1 || zero > end ? end : zero)
}

/** In octal, or in binary if the first bit is set. */
function numberAt(block: Buffer, start: number, end: number): number {
  const isBinary = (block[start]! & 0x80) !== 0
  const text = block.toString('latin1', start, end).replaceAll(/^[ \0]+|[ \0]+$/g, '')
  const digits = [...block.subarray(start + 1, end)]
  const value = isBinary
    ? digits.reduce((total, byte) => total * 256 + byte, block[start]! & 0x7f)
    : Number(text === '' ? 0 : `0o${text}`)
  if (Number.isSafeInteger(value)) return value
  throw new TarError('archive/tar: invalid tar header')
}

async function readExtension(input: TarInput, { typeFlag, sizeBytes }: Header): Promise<Extension> {
  if (sizeBytes > extensionBytesMax) throw new TarError('archive/tar: header field too long')
  const pieces: Uint8Array[] = []
  for await (const piece of input.content(sizeBytes)) pieces.push(piece)
  const content = Buffer.concat(pieces)
  if (typeFlag === 'x') return parsePax(content)
  const text = content.toString().replace(/\0[^]*$/, '')
  return typeFlag === 'L' ? { path: text } : { target: text }
}

/** Records `LENGTH KEY=VALUE\n`, where the length includes everything. */
function parsePax(content: Buffer): Extension {
  const values = new Map<string, string>()
  for (let at = 0; at < content.length;) {
    const [, length = '', key = ''] = /^(\d{1,9}) ([^=]*)=/.exec(content.toString('utf8', at, at + 100)) ?? []
    const end = at + Number(length)
    const start = at + length.length + 1 + Buffer.byteLength(key) + 1
    if (key === '' || end > content.length || start >= end)
      throw new TarError('archive/tar: invalid tar header')
    const value = content.toString('utf8', start, end - 1)
    values.set(key, value)
    at = end
  }
  const [path, target, size] = [values.get('path'), values.get('linkpath'), values.get('size')]
  return {
    ...(path !== undefined && { path }),
    ...(target !== undefined && { target }),
    ...(size !== undefined && { sizeBytes: paxSize(size) }),
  }
}

function paxSize(text: string): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value
  throw new TarError('archive/tar: invalid tar header')
}

class TarInput {
  readonly #archive: AsyncIterator<Uint8Array>
  #unread: Uint8Array = new Uint8Array()

  constructor(archive: AsyncIterator<Uint8Array>) {
    this.#archive = archive
  }

  /** Undefined at the end of the archive. */
  async block(): Promise<Buffer | undefined> {
    const pieces: Uint8Array[] = []
    let missing = blockBytes
    while (missing > 0) {
      const piece = await this.#piece(missing)
      if (piece === undefined && pieces.length === 0) return undefined
      if (piece === undefined) throw new TarError('unexpected EOF')
      pieces.push(piece)
      missing -= piece.length
    }
    return Buffer.concat(pieces)
  }

  async skip(sizeBytes: number): Promise<void> {
    await this.content(sizeBytes).return()
  }

  /** The next bytes and their padding. What is not read is skipped. */
  content(sizeBytes: number): AsyncIterable<Uint8Array> & { return(): Promise<void> } {
    const padding = (blockBytes - (sizeBytes % blockBytes)) % blockBytes
    let [contentLeft, paddingLeft] = [sizeBytes, padding]
    const next = async (): Promise<Uint8Array | undefined> => {
      while (contentLeft > 0 || paddingLeft > 0) {
        const piece = await this.#piece(contentLeft || paddingLeft)
        if (piece === undefined) throw new TarError('unexpected EOF')
        if (contentLeft > 0) {
          contentLeft -= piece.length
          return piece
        }
        paddingLeft -= piece.length
      }
      return undefined
    }
    return {
      async *[Symbol.asyncIterator]() {
        for (let piece = await next(); piece !== undefined; piece = await next()) yield piece
      },
      async return() {
        while ((await next()) !== undefined);
      },
    }
  }

  /** At most this many bytes; undefined at the end. */
  async #piece(bytesMax: number): Promise<Uint8Array | undefined> {
    while (this.#unread.length === 0) {
      const { done, value } = await this.#archive.next()
      if (done) return undefined
      this.#unread = value
    }
    const piece = this.#unread.subarray(0, bytesMax)
    this.#unread = this.#unread.subarray(piece.length)
    return piece
  }
}
