/**
 * What the log keeps beside a version and reads without the version itself: whether the write created the object, the
 * uid of the object, and the encoded origin.
 */
export interface RecordDetails {
  readonly isCreation: boolean
  /** Empty if unknown. */
  readonly uid: string
  readonly origin: Uint8Array | undefined
}

/** Flags, length of the uid, uid, origin. */
export function encodeRecordDetails({ isCreation, uid, origin }: RecordDetails): Uint8Array {
  const shown = Buffer.from(uid.slice(0, uidCharactersMax), 'latin1')
  const encoded = new Uint8Array(headBytes + shown.length + (origin?.length ?? 0))
  encoded[0] = isCreation ? 1 : 0
  encoded[1] = shown.length
  encoded.set(shown, headBytes)
  if (origin) encoded.set(origin, headBytes + shown.length)
  return encoded
}

export function decodeRecordDetails(encoded: Uint8Array | undefined): RecordDetails {
  if (encoded === undefined || encoded.length < headBytes)
    return { isCreation: false, uid: '', origin: undefined }
  const end = headBytes + encoded[1]!
  const uid = Buffer.from(encoded.subarray(headBytes, end)).toString('latin1')
  const origin = encoded.subarray(end)
  return { isCreation: encoded[0] === 1, uid, origin: origin.length === 0 ? undefined : origin }
}

const headBytes = 2
const uidCharactersMax = 255
