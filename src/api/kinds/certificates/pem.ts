/**
 * Minimal PEM reader for validation (RFC 7468): begin and end lines with base64 between them. Block contents
 * are not decoded.
 */
export interface PemBlock {
  /** `CERTIFICATE`. */
  readonly type: string
  /** True if the content is preceded by lines such as `Proc-Type: 4,ENCRYPTED`. */
  readonly hasHeaders: boolean
}

/** The blocks in a base64-encoded text. Text around the blocks is skipped. */
export function readPemBlocks(base64: string): readonly PemBlock[] {
  const blocks: PemBlock[] = []
  let open: OpenBlock | undefined
  for (const line of Buffer.from(base64, 'base64').toString('latin1').split('\n')) {
    const text = line.trimEnd()
    if (text.startsWith(beginning) && text.endsWith(dashes)) {
      open = { type: text.slice(beginning.length, -dashes.length), hasHeaders: false, isContent: true }
    } else if (open && text === `${ending}${open.type}${dashes}`) {
      if (open.isContent) blocks.push({ type: open.type, hasHeaders: open.hasHeaders })
      open = undefined
    } else if (open) {
      open = readLine(open, text)
    }
  }
  return blocks
}

interface OpenBlock extends PemBlock {
  /** True if all lines so far are valid content. */
  readonly isContent: boolean
}

const dashes = '-----'
const beginning = '-----BEGIN '
const ending = '-----END '

function readLine(block: OpenBlock, line: string): OpenBlock {
  if (line.includes(':')) return { ...block, hasHeaders: true }
  return /[^A-Za-z0-9+/=]/.test(line) ? { ...block, isContent: false } : block
}
