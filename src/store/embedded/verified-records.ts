import { join } from 'node:path'
import type { Clock, Files } from '#/platform/platform.ts'
import { StoreError } from '../store.ts'
import type { Damage } from './damage.ts'
import { scanSegment, type ScannedRecord } from './scan-segment.ts'
import { encodeHeader, headerBytes } from './segment-header.ts'
import type { Segment } from './segments.ts'

export interface VerifyOptions {
  readonly files: Files
  readonly clock: Clock
  readonly folder: string
  readonly onDamage: (damage: Damage) => void
}

/**
 * Reads a sealed segment from the disk while the store is in use, and verifies all of it. Throws StoreError `damaged`
 * after the intact records.
 */
export async function* verifiedRecords(
  segment: Segment,
  { files, clock, folder, onDamage }: VerifyOptions,
): AsyncGenerator<ScannedRecord, void, undefined> {
  const { header, name } = segment
  const damaged = (positionBytes: number): StoreError => {
    onDamage({ file: name, positionBytes, reason: 'the log is damaged' })
    return new StoreError('damaged', `${name} is damaged at byte ${positionBytes}`)
  }
  const bytes = await files.read(join(folder, name))
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (Buffer.compare(content.subarray(0, headerBytes), encodeHeader(header)) !== 0) throw damaged(0)
  const frames = scanSegment(content, { previous: header.previous })
  let pausedAt = 0
  let next = frames.next()
  for (; !next.done; next = frames.next()) {
    yield* next.value.records
    if (next.value.endBytes < pausedAt + bytesBetweenPauses) continue
    pausedAt = next.value.endBytes
    await clock.turn()
  }
  const { endBytes, chain, damagedAt } = next.value
  const isWhole = Buffer.compare(chain, header.rewritten?.content ?? segment.chain) === 0
  if (damagedAt !== undefined || !isWhole) throw damaged(damagedAt ?? endBytes)
}

/** Requests are served between two pauses. */
const bytesBetweenPauses = 256 * 1024
