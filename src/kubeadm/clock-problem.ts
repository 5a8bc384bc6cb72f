/**
 * Recognizes clocks that differ between machines, since certificates and tokens then fail in ways that do not say so.
 */
import { humanDuration } from '#/api/text/duration.ts'

/** Certificates are valid from five minutes before they are made. */
const toleratedMs = 5 * 60_000

const remedy = 'set the clocks of all hosts, e.g. with timedatectl set-ntp true'

const codes: ReadonlyMap<unknown, string> = new Map([
  ['CERT_NOT_YET_VALID', "the API server's certificate is not valid yet"],
  ['CERT_HAS_EXPIRED', "the API server's certificate has expired"],
])

/** One line; undefined when the error, or one of its causes, is not about the validity of a certificate. */
export function clockProblem(error: unknown): string | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    const found = codes.get((each as NodeJS.ErrnoException).code)
    if (found !== undefined)
      return `${found} by the clock of this machine: ${remedy}, or renew the certificate`
  }
  return undefined
}

/** One line; undefined when the clocks agree as far as certificates need it. */
export function clockSkewProblem(nowMs: number, serverMs: number): string | undefined {
  const skewMs = nowMs - serverMs
  if (Math.abs(skewMs) <= toleratedMs) return undefined
  const relation = skewMs < 0 ? 'behind' : 'ahead of'
  return `the clock of this machine is ${humanDuration(Math.abs(skewMs))} ${relation} that of the API server: ${remedy}`
}
