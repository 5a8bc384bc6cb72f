/** Writes tar archives: whole ones in memory, or the headers of one that is streamed. */

/** An entry of a tar archive. Paths are relative; directories need no trailing slash. */
export type TarEntry = TarAttributes & ({ readonly type: 'file'; readonly content: Uint8Array } | TarNode)

/** An entry whose content, if any, follows its header. */
export type TarMember = TarAttributes & ({ readonly type: 'file'; readonly sizeBytes: number } | TarNode)

interface TarAttributes {
  readonly path: string
  /** Defaults to 0o644 for files and 0o755 for directories. */
  readonly mode?: number
  readonly uid?: number
  readonly gid?: number
  /** Time of the last modification; 0 if it is absent, so that equal content gives equal bytes. */
  readonly modifiedMs?: number
}

type TarNode = { readonly type: 'folder' } | { readonly type: 'link' | 'symlink'; readonly target: string }

/** A tar archive in POSIX ustar format, with pax headers where fields are too small. */
export function tar(entries: readonly TarEntry[]): Uint8Array {
  const blocks = entries.flatMap(entry => {
    if (entry.type !== 'file') return [tarHeader(entry)]
    const { content, ...attributes } = entry
    const sizeBytes = content.length
    return [tarHeader({ ...attributes, sizeBytes }), content, tarPadding(sizeBytes)]
  })
  return Buffer.concat([...blocks, tarEnd])
}

/** What precedes the content of an entry. */
export function tarHeader(entry: TarMember): Uint8Array {
  return Buffer.concat([...extended(entry), header(entry)])
}

/** What follows a content of this size. */
export function tarPadding(sizeBytes: number): Uint8Array {
  return new Uint8Array((blockBytes - (sizeBytes % blockBytes)) % blockBytes)
}

const blockBytes = 512

export const tarEnd = new Uint8Array(2 * blockBytes)

const nameBytesMax = 100

const typeFlags = { file: '0', link: '1', symlink: '2', folder: '5' } as const

function pathOf({ type, path }: TarMember): string {
  return type === 'folder' ? `${path.replace(/\/$/, '')}/` : path
}

function targetOf(entry: TarMember): string {
  return 'target' in entry ? entry.target : ''
}

function header(entry: TarMember): Uint8Array {
  const usual = entry.type === 'folder' ? 0o755 : 0o644
  return block({
    path: pathOf(entry),
    target: targetOf(entry),
    typeFlag: typeFlags[entry.type],
    mode: entry.mode ?? usual,
    uid: entry.uid ?? 0,
    gid: entry.gid ?? 0,
    sizeBytes: sizeOf(entry),
    modifiedMs: entry.modifiedMs ?? 0,
  })
}

function sizeOf(entry: TarMember): number {
  return entry.type === 'file' ? entry.sizeBytes : 0
}

/** A pax header for names and numbers that exceed the ustar fields. */
function extended(entry: TarMember): Uint8Array[] {
  const records = [
    ...textRecord('path', pathOf(entry)),
    ...textRecord('linkpath', targetOf(entry)),
    ...numberRecord('size', { value: sizeOf(entry), digits: 11 }),
    ...numberRecord('uid', { value: entry.uid ?? 0, digits: 7 }),
    ...numberRecord('gid', { value: entry.gid ?? 0, digits: 7 }),
  ].join('')
  if (records === '') return []
  const content = Buffer.from(records)
  const fields = { path: 'pax-header', target: '', typeFlag: 'x', mode: 0o644, uid: 0, gid: 0, modifiedMs: 0 }
  return [block({ ...fields, sizeBytes: content.length }), content, tarPadding(content.length)]
}

function textRecord(key: string, value: string): string[] {
  return Buffer.byteLength(value) <= nameBytesMax ? [] : [record(key, value)]
}

function numberRecord(
  key: string,
  { value, digits }: { readonly value: number; readonly digits: number },
): string[] {
  return value < 8 ** digits ? [] : [record(key, String(value))]
}

/** The record length includes its own digits. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  const restBytes = Buffer.byteLength(rest)
  let total = restBytes + String(restBytes).length
  if (restBytes + String(total).length !== total) total += 1
  return `${total}${rest}`
}

interface HeaderFields {
  readonly path: string
  readonly target: string
  readonly typeFlag: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly sizeBytes: number
  readonly modifiedMs: number
}

function block(fields: HeaderFields): Uint8Array {
  const bytes = Buffer.alloc(blockBytes)
  bytes.write(fields.path, 0, nameBytesMax)
  bytes.write(octal(fields.mode, 7), 100)
  bytes.write(octal(fields.uid, 7), 108)
  bytes.write(octal(fields.gid, 7), 116)
  bytes.write(octal(fields.sizeBytes, 11), 124)
  bytes.write(octal(Math.max(0, Math.floor(fields.modifiedMs / 1_000)), 11), 136)
  bytes.write(' '.repeat(8), 148)
  bytes.write(fields.typeFlag, 156)
  bytes.write(fields.target, 157, nameBytesMax)
  bytes.write('ustar\0' + '00', 257)
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${octal(sum, 6)}\0 `, 148)
  return bytes
}

/** 0 for a number that only a pax header can hold. */
function octal(value: number, digits: number): string {
  return (value < 8 ** digits ? value : 0).toString(8).padStart(digits, '0')
}
