import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'

/** Throws Error unless the PEM files have a certificate and its private key. */
export function validateKeyPair(certificate: Uint8Array, privateKey: Uint8Array): void {
  const leaf = parseCertificate(certificateBlock(pemBlocks(certificate)))
  const key = parsePrivateKey(privateKeyBlock(pemBlocks(privateKey)))
  const { asymmetricKeyType } = leaf.publicKey
  if (asymmetricKeyType === undefined || !keyTypes.includes(asymmetricKeyType)) {
    throw new Error('tls: unknown public key algorithm')
  }
  if (key.asymmetricKeyType !== asymmetricKeyType) {
    throw new Error('tls: private key type does not match public key type')
  }
  if (!leaf.checkPrivateKey(key)) throw new Error('tls: private key does not match public key')
}

const keyTypes: readonly string[] = ['rsa', 'ec', 'ed25519']

interface PemBlock {
  readonly type: string
  readonly text: string
}

function pemBlocks(content: Uint8Array): readonly PemBlock[] {
  const blocks: PemBlock[] = []
  let lines: string[] | undefined
  let type = ''
  for (const line of Buffer.from(content).toString('latin1').split(/\r?\n/)) {
    const begun = /^-----BEGIN ([^-]+)-----\s*$/.exec(line)
    if (begun) {
      lines = []
      type = begun[1]!
    }
    lines?.push(line)
    if (lines === undefined || line.trimEnd() !== `-----END ${type}-----`) continue
    blocks.push({ type, text: lines.join('\n') })
    lines = undefined
  }
  return blocks
}

function certificateBlock(blocks: readonly PemBlock[]): PemBlock {
  const found = blocks.find(({ type }) => type === 'CERTIFICATE')
  if (found !== undefined) return found
  const types = blocks.map(({ type }) => type)
  const [only = ''] = types
  if (types.length === 0) throw new Error('tls: failed to find any PEM data in certificate input')
  if (types.length === 1 && only.endsWith('PRIVATE KEY')) {
    throw new Error(
      'tls: failed to find certificate PEM data in certificate input, but did find a private key; ' +
        'PEM inputs may have been switched',
    )
  }
  const skipped = `after skipping PEM blocks of the following types: [${types.join(' ')}]`
  throw new Error(`tls: failed to find "CERTIFICATE" PEM block in certificate input ${skipped}`)
}

function privateKeyBlock(blocks: readonly PemBlock[]): PemBlock {
  const found = blocks.find(({ type }) => type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY'))
  if (found !== undefined) return found
  const types = blocks.map(({ type }) => type)
  if (types.length === 0) throw new Error('tls: failed to find any PEM data in key input')
  if (types.length === 1 && types[0] === 'CERTIFICATE') {
    throw new Error('tls: found a certificate rather than a key in the PEM for the private key')
  }
  const skipped = `after skipping PEM blocks of the following types: [${types.join(' ')}]`
  throw new Error(`tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input ${skipped}`)
}

function parseCertificate({ text }: PemBlock): X509Certificate {
  try {
    return new X509Certificate(text)
  } catch (error) {
    throw new Error('x509: malformed certificate', { cause: error })
  }
}

function parsePrivateKey({ text }: PemBlock): KeyObject {
  try {
    return createPrivateKey(text)
  } catch (error) {
    throw new Error('tls: failed to parse private key', { cause: error })
  }
}
