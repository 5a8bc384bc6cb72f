/** Writes tar archives for images and layers. Works in memory only. */

/** An entry of a tar archive. Paths are relative; directories need no trailing slash. */
export type TarEntry = {
  readonly path: string
  /** Defaults to 0o644 for files and 0o755 for directories. */
  readonly mode?: number
  readonly uid?: number
  readonly gid?: number
} & (
  | { readonly type: 'file'; readonly content: Uint8Array }
  | { readonly type: 'folder' }
  | { readonly type: 'link' | 'symlink'; readonly target: string }
)

/**
 * A tar archive in POSIX ustar format, with pax headers where fields are too small. All times are 0, so equal
 * content gives equal bytes.
 */
export function tar(entries: readonly TarEntry[]): Uint8Array {
  const blocks = entries.flatMap(entry => [...extended(entry), header(entry), ...padded(contentOf(entry))])
  return Buffer.concat([...blocks, new Uint8Array(2 * blockBytes)])
}

const blockBytes = 512
const nameBytesMax = 100

const typeFlags = { file: '0', link: '1', symlink: '2', folder: '5' } as const

function contentOf(entry: TarEntry): Uint8Array {
  return entry.type === 'file' ? entry.content : new Uint8Array()
}

function pathOf({ type, path }: TarEntry): string {
  return type === 'folder' ? `${path.replace(/\/$/, '')}/` : path
}

function targetOf(entry: TarEntry): string {
  return 'target' in entry ? entry.target : ''
}

function header(entry: TarEntry): Uint8Array {
  const usual = entry.type === 'folder' ? 0o755 : 0o644
  return block({
    path: pathOf(entry),
    target: targetOf(entry),
    typeFlag: typeFlags[entry.type],
    mode: entry.mode ?? usual,
    uid: entry.uid ?? 0,
    gid: entry.gid ?? 0,
    sizeBytes: contentOf(entry).length,
  })
}

/** A pax header for names that exceed the ustar fields. */
function extended(entry: TarEntry): Uint8Array[] {
  const records = [...record('path', pathOf(entry)), ...record('linkpath', targetOf(entry))].join('')
  if (records === '') return []
  const content = Buffer.from(records)
  const path = 'pax-header'
  return [
    block({ path, target: '', typeFlag: 'x', mode: 0o644, uid: 0, gid: 0, sizeBytes: content.length }),
    ...padded(content),
  ]
}

/** The record length includes its own digits. */
function record(key: string, value: string): string[] {
  if (Buffer.byteLength(value) <= nameBytesMax) return []
  const rest = ` ${key}=${value}\n`
  const restBytes = Buffer.byteLength(rest)
  let total = restBytes + String(restBytes).length
  if (restBytes + String(total).length !== total) total += 1
  return [`${total}${rest}`]
}

interface HeaderFields {
  readonly path: string
  readonly target: string
  readonly typeFlag: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly sizeBytes: number
}

function block(fields: HeaderFields): Uint8Array {
  const bytes = Buffer.alloc(blockBytes)
  bytes.write(fields.path, 0, nameBytesMax)
  bytes.write(octal(fields.mode, 7), 100)
  bytes.write(octal(fields.uid, 7), 108)
  bytes.write(octal(fields.gid, 7), 116)
  bytes.write(octal(fields.sizeBytes, 11), 124)
  bytes.write(octal(0, 11), 136)
  bytes.write(' '.repeat(8), 148)
  bytes.write(fields.typeFlag, 156)
  bytes.write(fields.target, 157, nameBytesMax)
  bytes.write('ustar\0' + '00', 257)
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${octal(sum, 6)}\0 `, 148)
  return bytes
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

function padded(content: Uint8Array): Uint8Array[] {
  const rest = content.length % blockBytes
  return rest === 0 ? [content] : [content, new Uint8Array(blockBytes - rest)]
}
