/**
 * PEM as far as validation looks at it (RFC 7468): blocks between a line that begins one and a line that ends
 * it, with base64 between. What is inside a block is for the signer to read.
 */
export interface PemBlock {
  /** `CERTIFICATE`. */
  readonly type: string
  /** Lines such as `Proc-Type: 4,ENCRYPTED` in front of the content. */
  readonly hasHeaders: boolean
}

/** The blocks of a text that is given in base64, as bytes are in JSON. Whatever is around them is skipped. */
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
  /** Everything so far can be content. */
  readonly isContent: boolean
}

const dashes = '-----'
const beginning = '-----BEGIN '
const ending = '-----END '

function readLine(block: OpenBlock, line: string): OpenBlock {
  if (line.includes(':')) return { ...block, hasHeaders: true }
  return /[^A-Za-z0-9+/=]/.test(line) ? { ...block, isContent: false } : block
}
