/** Tail of a CRI log: `<time> stdout|stderr F|P text`. */

export interface TailLimits {
  readonly linesMax: number
  readonly bytesMax: number
}

/** `log` may start within a line, which is dropped. */
export function logTail(log: string, { linesMax, bytesMax }: TailLimits): string {
  const lines: string[] = []
  let pieces = ''
  for (const record of log.split('\n')) {
    const [, kind, content = ''] = /^\S+T\S+ (?:stdout|stderr) ([FP])[^ ]* ?(.*)$/s.exec(record) ?? []
    if (kind === undefined) continue
    pieces += content
    if (kind === 'P') continue
    lines.push(`${pieces}\n`)
    pieces = ''
  }
  if (pieces !== '') lines.push(pieces)
  return lastBytes(lines.slice(-linesMax).join(''), bytesMax)
}

/** Truncates at a character boundary. */
function lastBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  let start = bytes.length - bytesMax
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++
  return bytes.subarray(start).toString()
}
