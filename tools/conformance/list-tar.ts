/** Lists the files of a tar archive without reading them: where each begins, and how long it is. */
import type { FileHandle } from 'node:fs/promises'

export interface ArchivedFile {
  readonly offset: number
  readonly sizeBytes: number
}

/** By path. Links stand for the file that they name. Throws when it is not a tar archive. */
export async function listTar(archive: FileHandle): Promise<ReadonlyMap<string, ArchivedFile>> {
  const files = new Map<string, ArchivedFile>()
  const links = new Map<string, string>()
  let extended: Extended = {}
  for (let offset = 0; ;) {
    const header = await readBytes(archive, offset, blockBytes)
    if (header.length < blockBytes || header.every(byte => byte === 0)) break
    requireTar(header)
    const type = String.fromCharCode(header[156]!)
    const isExtension = 'xLK'.includes(type)
    const sizeBytes = (isExtension ? undefined : extended.size) ?? sizeOf(header)
    const content = { offset: offset + blockBytes, sizeBytes }
    offset = content.offset + Math.ceil(sizeBytes / blockBytes) * blockBytes
    if (isExtension) {
      Object.assign(extended, readExtended(type, await readBytes(archive, content.offset, sizeBytes)))
      continue
    }
    const path = clean(extended.path ?? pathOf(header))
    const target = extended.linkpath ?? textAt(header, 157, 100)
    if (type === '0' || type === '\0') files.set(path, content)
    else if (type === '1') links.set(path, clean(target))
    else if (type === '2') links.set(path, clean(besidePath(path, target)))
    if (type !== 'g') extended = {}
  }
  for (const [path, target] of links) {
    const file = files.get(target)
    if (file !== undefined) files.set(path, file)
  }
  return files
}

/** At most so many bytes; fewer at the end of the file. */
export async function readBytes(archive: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  const { bytesRead } = await archive.read(bytes, 0, length, offset)
  return bytes.subarray(0, bytesRead)
}

const blockBytes = 512

/** What a header of its own says of the entry that follows it. */
interface Extended {
  readonly path?: string
  readonly linkpath?: string
  readonly size?: number
}

function readExtended(type: string, content: Buffer): Extended {
  const text = content.toString()
  if (type === 'L') return { path: text.replace(/\0.*$/s, '') }
  if (type === 'K') return { linkpath: text.replace(/\0.*$/s, '') }
  const record = (key: string): string | undefined => new RegExp(`^\\d+ ${key}=(.*)$`, 'm').exec(text)?.[1]
  const [path, linkpath, size] = [record('path'), record('linkpath'), record('size')]
  return {
    ...(path !== undefined && { path }),
    ...(linkpath !== undefined && { linkpath }),
    ...(size !== undefined && { size: Number(size) }),
  }
}

function requireTar(header: Buffer): void {
  const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 32 : byte), 0)
  if (Number.parseInt(textAt(header, 148, 8), 8) !== sum) throw new Error('not a tar archive')
}

/** Octal digits, or a binary number where those do not suffice. */
function sizeOf(header: Buffer): number {
  if (header[124]! < 0x80) return Number.parseInt(textAt(header, 124, 12), 8) || 0
  return Number(header.readBigUInt64BE(128))
}

function pathOf(header: Buffer): string {
  const prefix = textAt(header, 257, 6) === 'ustar' ? textAt(header, 345, 155) : ''
  const name = textAt(header, 0, 100)
  return prefix === '' ? name : `${prefix}/${name}`
}

function textAt(header: Buffer, start: number, length: number): string {
  return header
    .subarray(start, start + length)
    .toString()
    .replace(/\0.*$/s, '')
    .trim()
}

function besidePath(path: string, target: string): string {
  return target.startsWith('/') ? target : `${path.replace(/[^/]*$/, '')}${target}`
}

/** Without `./`, `..` and slashes at the ends. */
function clean(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}
