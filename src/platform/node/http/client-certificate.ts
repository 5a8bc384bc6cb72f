import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'
import type { ClientCertificate } from '../../http.ts'

export interface CheckedCertificate {
  readonly certificate?: ClientCertificate
  readonly certificateError?: string
}

/** Who the client says it is, if authorities that we trust say so too. */
export function checkClientCertificate(socket: TLSSocket): CheckedCertificate {
  const sent = socket.getPeerCertificate(true) as DetailedPeerCertificate | Record<string, never>
  if (sent.subject === undefined) return {}
  // Node has a code for what is wrong, and its types say that it is an error.
  if (!socket.authorized) return { certificateError: String(socket.authorizationError) }
  const subject: Readonly<Record<string, string | string[] | undefined>> = { ...sent.subject }
  return {
    certificate: {
      // Of several names the last one counts, as for every other client of a Kubernetes API server.
      commonName: values(subject['CN']).at(-1) ?? '',
      organizations: values(subject['O']),
      expiresMs: Date.parse(sent.valid_to),
      chain: chainOf(sent as DetailedPeerCertificate),
    },
  }
}

/** Certificates of one chain; longer ones nobody has. */
const chainLengthMax = 8

function chainOf(leaf: DetailedPeerCertificate): readonly Uint8Array[] {
  const chain: Uint8Array[] = []
  for (let current: DetailedPeerCertificate | undefined = leaf; current && chain.length < chainLengthMax;) {
    chain.push(current.raw)
    // A root is its own issuer, and what is not known has none.
    current = current.issuerCertificate === current ? undefined : current.issuerCertificate
  }
  return chain
}

function values(attribute: string | string[] | undefined): string[] {
  return attribute === undefined ? [] : typeof attribute === 'string' ? [attribute] : attribute
}
