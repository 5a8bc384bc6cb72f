import { X509Certificate } from 'node:crypto'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { parseTime } from '#/api/time.ts'
import { isIssued } from './csr-conditions.ts'

const hourMs = 3_600_000
const decidedMs = hourMs
const openMs = 24 * hourMs

/** Time at which the request may be deleted; Infinity if it is kept. */
export function requestExpiresAtMs(request: CertificateSigningRequest): number {
  const { metadata, status } = request
  const conditions = status?.conditions ?? []
  if (conditions.length === 0) return afterTime(metadata?.creationTimestamp, openMs)
  const times = conditions.flatMap(({ type, lastUpdateTime }) => {
    if (type === 'Denied' || type === 'Failed') return [afterTime(lastUpdateTime, decidedMs)]
    if (type !== 'Approved') return []
    if (!isIssued(request)) return [afterTime(lastUpdateTime, openMs)]
    return [afterTime(lastUpdateTime, decidedMs), certificateEndsMs(status?.certificate ?? '')]
  })
  return Math.min(Infinity, ...times)
}

function afterTime(text: string | undefined, ms: number): number {
  const timeMs = parseTime(text ?? '')
  return timeMs === undefined ? Infinity : timeMs + ms
}

/** End of validity of the first certificate; Infinity if it cannot be parsed. */
function certificateEndsMs(base64: string): number {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).validToDate.getTime()
  } catch {
    return Infinity
  }
}
