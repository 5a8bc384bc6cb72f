/**
 * A batch of versions encoded in one block of memory, which is transferred to the log writer thread without
 * copying. Each version is six numbers; the bytes of keys and values follow at the end of the block.
 */
import type { Version } from '../local/version.ts'

export interface PackedVersion {
  readonly key: string
  readonly revision: number
  readonly createRevision: number
  readonly expiresMs: number
  readonly value: Uint8Array | undefined
}

export function packVersions(versions: readonly Version[]): ArrayBuffer {
  const numbersBytes = versions.length * numbersEach * 8
  let size = numbersBytes
  for (const { key, value } of versions) size += key.length * bytesPerCharacterMax + (value?.length ?? 0)
  const block = Buffer.from(new ArrayBuffer(size + 8))
  const numbers = new Float64Array(block.buffer, 8, versions.length * numbersEach)
  block.writeDoubleLE(versions.length, 0)
  let offset = 8 + numbersBytes
  for (const [index, { key, revision, createRevision, expiresMs, value }] of versions.entries()) {
    const keyBytes = block.write(key, offset)
    if (value) block.set(value, offset + keyBytes)
    numbers.set(
      [revision, createRevision, expiresMs, offset, keyBytes, value?.length ?? -1],
      index * numbersEach,
    )
    offset += keyBytes + (value?.length ?? 0)
  }
  return block.buffer
}

export function* unpackVersions(packed: ArrayBuffer): Generator<PackedVersion, void, undefined> {
  const block = Buffer.from(packed)
  const count = block.readDoubleLE(0)
  const numbers = new Float64Array(packed, 8, count * numbersEach)
  for (let index = 0; index < count * numbersEach; index += numbersEach) {
    const [revision, createRevision, expiresMs, offset, keyBytes, valueBytes] = numbers.subarray(
      index,
      index + numbersEach,
    )
    const keyEnd = offset! + keyBytes!
    yield {
      key: block.toString('utf8', offset, keyEnd),
      revision: revision!,
      createRevision: createRevision!,
      expiresMs: expiresMs!,
      value: valueBytes === -1 ? undefined : block.subarray(keyEnd, keyEnd + valueBytes!),
    }
  }
}

const numbersEach = 6
const bytesPerCharacterMax = 3
