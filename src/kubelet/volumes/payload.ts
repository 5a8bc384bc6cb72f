/** Files of a volume: construction and comparison. Pure. */
import { posix } from 'node:path'
import type { KeyToPath } from '#/api/generated/core/v1.ts'

/** By path relative to the volume. */
export type Payload = ReadonlyMap<string, PayloadFile>

export interface PayloadFile {
  /** Encoded as in the API, decoded only when written. */
  readonly content: string
  readonly encoding: 'utf8' | 'base64'
  readonly mode: number
  /** Owner; root if absent. */
  readonly uid?: number
}

export const defaultFileMode = 0o644

export interface KeysRequest {
  /** Selected keys and their paths; all keys under their own names if empty. */
  readonly items?: readonly KeyToPath[] | undefined
  readonly data: ReadonlyMap<string, Pick<PayloadFile, 'content' | 'encoding'>>
  readonly defaultMode: number
  /** Missing keys are skipped. */
  readonly isOptional: boolean
  /** Error message prefix for a missing key. */
  readonly missing: string
}

export function payloadOfKeys({ items = [], data, defaultMode, isOptional, missing }: KeysRequest): Payload {
  const payload = new Map<string, PayloadFile>()
  if (items.length === 0) for (const [key, file] of data) payload.set(key, { ...file, mode: defaultMode })
  for (const { key, path, mode = defaultMode } of items) {
    const file = data.get(key)
    if (file) payload.set(path, { ...file, mode })
    else if (!isOptional) throw new Error(`${missing}: ${key}`)
  }
  return payload
}

const pathLengthMax = 4_096
const nameLengthMax = 255

/** Normalizes paths. Throws if a path leaves the volume. */
export function cleanPayload(payload: Payload): Payload {
  return new Map(
    [...payload].map(([path, file]) => {
      validatePath(path)
      return [posix.normalize(path).replace(/\/$/, ''), file]
    }),
  )
}

function validatePath(path: string): void {
  if (path === '') throw new Error('invalid path: must not be empty: ""')
  if (path.startsWith('/')) throw new Error(`invalid path: must be relative path: ${path}`)
  if (path.length > pathLengthMax) {
    throw new Error(`invalid path: must be less than or equal to ${pathLengthMax} characters`)
  }
  const names = path.split('/')
  if (names.includes('..')) throw new Error(`invalid path: must not contain '..': ${path}`)
  if (names.some(name => Buffer.byteLength(name) > nameLengthMax)) {
    throw new Error(`invalid path: filenames must be less than or equal to ${nameLengthMax} characters`)
  }
  if (path.startsWith('..')) throw new Error(`invalid path: must not start with '..': ${path}`)
}

export function equalPayloads(left: Payload, right: Payload): boolean {
  if (left.size !== right.size) return false
  for (const [path, file] of left) {
    const other = right.get(path)
    if (other === undefined || !isSameFile(file, other)) return false
  }
  return true
}

function isSameFile(left: PayloadFile, right: PayloadFile): boolean {
  return (
    left.mode === right.mode &&
    left.uid === right.uid &&
    left.encoding === right.encoding &&
    left.content === right.content
  )
}

/** Names at the top level of the volume. */
export function topNames(payload: Payload): ReadonlySet<string> {
  return new Set([...payload.keys()].map(path => path.split('/')[0] ?? ''))
}

/** Combined error message: duplicates removed, in brackets if there are several. */
export function aggregateMessage(messages: readonly string[]): string {
  const distinct = [...new Set(messages)]
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`
}
