/** Finds the intact records of a damaged frame: each record has a checksum of its own. */
import { frameHeaderBytes, recordAt } from './frame.ts'
import type { ScannedRecord } from './scan-segment.ts'

/** A record whose checksum is wrong: its key and revision are probably right, since they look like such. */
export interface DamagedRecord {
  readonly key: string
  readonly revision: number
}

export interface SalvagedRecords {
  readonly records: readonly ScannedRecord[]
  readonly damagedRecords: readonly DamagedRecord[]
}

/** `region` begins where a frame was expected, at `startBytes` of the file. */
export function salvageRecords(region: Buffer, startBytes: number): SalvagedRecords {
  const records: ScannedRecord[] = []
  const damagedRecords: DamagedRecord[] = []
  /** Where a record begins, if the lengths before it are right. */
  let expected = frameHeaderBytes
  for (let position = 0; position < region.length;) {
    const found = recordAt(region, position)
    if (found?.isIntact) {
      const { record, sizeBytes } = found
      const encoded = region.subarray(position, position + sizeBytes)
      records.push({ record, encoded, positionBytes: startBytes + position })
      position += sizeBytes
      expected = position
      continue
    }
    if (found && position === expected && found.record.type === 'put') {
      const { key, revision } = found.record.version
      if (isPlausible(key, revision)) {
        damagedRecords.push({ key, revision })
        expected += found.sizeBytes
      }
    }
    position++
  }
  return { records, damagedRecords }
}

function isPlausible(key: string, revision: number): boolean {
  return /^\/[\x20-\x7e]+$/u.test(key) && Number.isSafeInteger(revision) && revision > 0
}
