/**
 * The first block of each file of the log: one line of JSON, padded with spaces, and its checksum.
 *
 * A segment is one file. The first segment of a store is 1, and each segment continues the chain of the one
 * before. Segments with many garbage records are rewritten into one segment that takes their place, and the range of
 * their numbers.
 */
import { crc32 } from 'node:zlib'
import { hash } from 'node:crypto'
import type { Chain } from './frame.ts'

export interface SegmentHeader {
  readonly format: SegmentFormat
  /** Identity of the store: a file of another store is recognized. */
  readonly storeId: string
  /** Numbers of the segments whose place this one takes; both are its own number unless it is rewritten. */
  readonly first: number
  readonly last: number
  /** The chain at the end of the segment before. */
  readonly previous: Chain
  /** Set if the segment is rewritten. */
  readonly rewritten?: RewrittenChains
  /** Wall time at which a snapshot was saved; only in the file of a snapshot. */
  readonly savedMs?: number
}

/**
 * 2: no record has a note. 3: records may have one. Files in which there cannot be notes, such as snapshots, are of
 * format 2, so that earlier versions of k8ts read them.
 */
export type SegmentFormat = 2 | 3

export interface RewrittenChains {
  /** The chain at the end of the segments that were replaced: the next segment continues it. */
  readonly end: Chain
  /** The chain of the last frame of this file. */
  readonly content: Chain
}

export const headerBytes = 512

/** The last one that this version of k8ts reads. */
export const formatVersion = 3

/** The chain before the first segment of a store. */
export function firstChain(storeId: string): Chain {
  return hash('sha256', storeId, 'buffer')
}

export function segmentName({ first, last }: Pick<SegmentHeader, 'first' | 'last'>): string {
  const number = (value: number): string => String(value).padStart(8, '0')
  return first === last ? `${number(first)}.log` : `${number(first)}-${number(last)}.log`
}

/** The range of segment numbers in the name of a file; undefined for other files. */
export function rangeOf(name: string): Pick<SegmentHeader, 'first' | 'last'> | undefined {
  const match = /^(\d{8,})(?:-(\d{8,}))?\.log$/u.exec(name)
  return match ? { first: Number(match[1]), last: Number(match[2] ?? match[1]) } : undefined
}

export function encodeHeader(header: SegmentHeader): Buffer<ArrayBuffer> {
  const { format, storeId, first, last, previous, rewritten, savedMs } = header
  const json: HeaderJson = {
    format,
    store: storeId,
    first,
    last,
    previous: toHex(previous),
    ...(rewritten && { end: toHex(rewritten.end), content: toHex(rewritten.content) }),
    ...(savedMs !== undefined && { saved: savedMs }),
  }
  const text = JSON.stringify(json).padEnd(textBytes, ' ')
  const bytes = Buffer.from(new ArrayBuffer(headerBytes))
  bytes.write(text + checksumOf(text))
  return bytes
}

/** `newer` is the format version of a file written by a later version of k8ts. */
export type DecodedHeader = SegmentHeader | { readonly newer: number } | undefined

/** Undefined when the block is damaged. */
export function decodeHeader(block: Uint8Array): DecodedHeader {
  const text = Buffer.from(block.buffer, block.byteOffset, block.length).toString('latin1', 0, headerBytes)
  if (text.slice(textBytes) !== checksumOf(text.slice(0, textBytes))) return undefined
  const json = JSON.parse(text.slice(0, textBytes)) as HeaderJson
  const { format } = json
  if (format !== 2 && format !== 3) return { newer: format }
  const { store: storeId, first, last, end, content, saved: savedMs } = json
  const previous = fromHex(json.previous)
  const header: SegmentHeader = {
    format,
    storeId,
    first,
    last,
    previous,
    ...(savedMs !== undefined && { savedMs }),
  }
  if (end === undefined || content === undefined) return header
  return { ...header, rewritten: { end: fromHex(end), content: fromHex(content) } }
}

interface HeaderJson {
  readonly format: number
  readonly store: string
  readonly first: number
  readonly last: number
  readonly previous: string
  readonly end?: string
  readonly content?: string
  readonly saved?: number
}

/** Eight hexadecimal digits and a line feed. */
const checksumBytes = 9

const textBytes = headerBytes - checksumBytes

function checksumOf(text: string): string {
  return `${crc32(text).toString(16).padStart(8, '0')}\n`
}

function toHex(chain: Chain): string {
  return Buffer.from(chain).toString('hex')
}

function fromHex(text: string): Chain {
  return Buffer.from(text, 'hex')
}
