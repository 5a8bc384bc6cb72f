/**
 * Scans JSON text without parsing it. Any input is safe: for invalid JSON the results are meaningless, but
 * the scan takes linear time and does not throw.
 */
export interface JsonMeasure {
  /** Maximum nesting of lists and maps. */
  readonly depth: number
  /**
   * Members of all maps, including duplicates: the parsed value has fewer if and only if there is a duplicate
   * key.
   */
  readonly members: number
}

/** Works on bytes, since reading characters of a string takes twice as long. */
export function measureJson(bytes: Uint8Array): JsonMeasure {
  const length = bytes.length
  let depth = 0
  let deepest = 0
  let members = 0
  for (let at = 0; at < length; at++) {
    const code = bytes[at] as number
    if (code === 0x22) {
      for (at++; at < length; at++) {
        const inside = bytes[at]
        if (inside === 0x22) break
        if (inside === 0x5c) at++
      }
    } else if (code === 0x3a) {
      members++
    } else if ((code | 0x20) === 0x7b) {
      depth++
      if (depth > deepest) deepest = depth
    } else if ((code | 0x20) === 0x7d) {
      depth--
    }
  }
  return { depth: deepest, members }
}

/**
 * The index after the closing quotation mark of the string that starts at `start`; the end of the text if
 * there is none.
 */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) return at + 1
    if (code === 0x5c) at++
  }
  return text.length
}

/** The index after the number that starts at `start`. */
export function endOfNumber(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && isNumberCode(text.charCodeAt(at))) at++
  return at
}

/** Digits, `.`, `+`, `-`, `e` and `E`. */
function isNumberCode(code: number): boolean {
  if (code >= 0x30 && code <= 0x39) return true
  return code === 0x2e || code === 0x2b || code === 0x2d || (code | 0x20) === 0x65
}
